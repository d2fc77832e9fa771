BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE answers (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	task_id INTEGER NOT NULL, 
	rater_id INTEGER NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	value INTEGER, 
	detail INTEGER, 
	milliseconds INTEGER, 
	given FLOAT NOT NULL, 
	CONSTRAINT no_answer_twice UNIQUE (rater_id, "key"), 
	FOREIGN KEY(task_id) REFERENCES tasks (id), 
	FOREIGN KEY(rater_id) REFERENCES raters (id)
);
INSERT INTO "answers" VALUES(1,1,1,'key-1','answer',1,NULL,1000,10.0);
INSERT INTO "answers" VALUES(2,3,3,'key-3','answer',1,NULL,3000,30.0);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	study VARCHAR(255) NOT NULL, 
	first VARCHAR(255) NOT NULL, 
	second VARCHAR(255) NOT NULL, 
	question VARCHAR(64) NOT NULL, 
	block INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	gold INTEGER, 
	wanted INTEGER NOT NULL, 
	taken INTEGER NOT NULL, 
	done BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_item UNIQUE (study, first, second, question)
);
INSERT INTO "items" VALUES(1,'','0-0000','','smile',0,0,NULL,3,3,1);
CREATE TABLE raters (
	id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	created FLOAT NOT NULL, 
	consented FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (token_hash)
);
INSERT INTO "raters" VALUES(1,'rater-0001','ef36eecaea357c1525d7eba9c84463b436563191ff4840a5b556442f7fe4ab66','excluded',0.0,NULL);
INSERT INTO "raters" VALUES(2,'rater-0002','3a88f7a483d9e9b56d96965db72863c499d4874cfd107464cf6d01c7eea77eb4','excluded',0.0,NULL);
INSERT INTO "raters" VALUES(3,'rater-0003','705b039053b7e69450ffa7fbff4b35d370d0dfdf124eafa4a4acd0e932c40536','active',0.0,NULL);
CREATE TABLE sessions (
	token_hash VARCHAR(64) NOT NULL, 
	rater_id INTEGER, 
	csrf VARCHAR(64) NOT NULL, 
	created FLOAT NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (token_hash), 
	FOREIGN KEY(rater_id) REFERENCES raters (id)
);
CREATE TABLE settings (
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('run','{"images":"f4a4031c265a3b0bb03a38e9645300d4c0e4bd7e0ca36f2fc2e64b2301312606","specs":{"":"2d6e471190dd1918a60533bcad6a0c42c6ba6fe2ddb0f54aa30b74bf72af88ad"}}');
INSERT INTO "settings" VALUES('questionnaire','{"consent":"Taking part is voluntary, and you can stop at any time by closing the page. We keep your answers and how long each took, under a number and not under your name. The pictures show faces; some may look strange.","instructions":"You see one picture and one question at a time. Answer what you see at first sight; there is no right or wrong. Press the key shown next to an answer, or click it. U takes the last answer back.","plan":{"break_every":50,"gold_every":0,"lease_minutes":10.0,"order":"by-question","per_cell":0,"ratings":3,"repeat_every":0,"seed":0,"stop":null},"question":[{"attribute":"smile","follow_up":null,"gold":[],"help":"","levels":[{"example":{},"key":"1","name":"no","value":null},{"example":{},"key":"2","name":"a little","value":null},{"example":{},"key":"3","name":"yes","value":null}],"name":"smile","pairs":"","scale":"ordinal","sided":false,"skip":true,"source":"","text":"Does it smile?"}],"source":"","title":"What do you see?"}');
CREATE TABLE tasks (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	rater_id INTEGER NOT NULL, 
	repeat BOOLEAN NOT NULL, 
	place INTEGER NOT NULL, 
	flipped BOOLEAN NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	leased FLOAT NOT NULL, 
	until FLOAT NOT NULL, 
	answer_id INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT no_rater_twice UNIQUE (item_id, rater_id, repeat), 
	FOREIGN KEY(item_id) REFERENCES items (id), 
	FOREIGN KEY(rater_id) REFERENCES raters (id)
);
INSERT INTO "tasks" VALUES(1,1,1,0,1,0,'answered',1.0,601.0,1);
INSERT INTO "tasks" VALUES(2,1,2,0,1,0,'leased',1.0,601.0,NULL);
INSERT INTO "tasks" VALUES(3,1,3,0,1,0,'answered',1.0,601.0,2);
CREATE INDEX items_by_need ON items (block, done, taken, position);
CREATE INDEX tasks_of_rater ON tasks (rater_id, state, place);
CREATE INDEX tasks_by_lease ON tasks (state, until);
CREATE INDEX answers_of_task ON answers (task_id);
CREATE TRIGGER answers_no_update BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'answers are only added'); END;
CREATE TRIGGER answers_no_delete BEFORE DELETE ON answers
BEGIN SELECT RAISE(ABORT, 'answers are only added'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('answers',2);
COMMIT;
