"""What documentation pages need to run from the top: files of the reader, small sizes, commands that are not run."""

import page_files as files
from page_runner import Page

TARGET = "torch:mypackage.models:SmileNet@smile.safetensors"
TINY_GAN = "--count 40 --batch 4 --channels 64 --max-channels 8 --z-dim 8"
PEOPLE = "--people 40"
GPU = "needs a GPU"
NODE = "needs Node.js; tests/docs/test_face_api_example.py starts the example"
SPEED = "measures speed"
CLUSTER = "starts Ray, which takes half a minute; tests/engines/test_ray_cluster.py compares the run folders"
ON_WORKERS = "needs photographs or a minute; tests/engines/test_jobs_on_workers.py compares the folders"
CONDITIONAL = "needs a conditional GAN; tests/annotation/test_conditions_of_a_gan.py does this"
VALIDATION = "takes minutes, or an hour; tests/validation"
POINTS = "dlib's landmarks are the reader's own; tests/jobs/readings trains a file of points"
CONDITIONS = "transect search opencv:haarcascade_frontalface_default --budget 240 --size 96 --space conditions"


def expression() -> None:
    files.onnx_model("expression.onnx", 3)


def my_model() -> None:
    files.onnx_model("my_model.onnx")


def glasses_model() -> None:
    files.onnx_model("glasses.onnx")


def twenty_faces() -> None:
    files.faces(20)


def smile_model() -> None:
    files.onnx_model("smile.onnx")


WARNS = "its library warns of its own parts; tests/jobs/export/test_tracking.py reads back what is logged"

PAGES = {
    "README.md": Page(
        made=(files.package, expression),
        extra={"transect demo": "--subjects 3"},
    ),
    "examples/face_api/README.md": Page({"npm": NODE}),
    "docs/how-to/export-results.md": Page(
        {"transect export runs/smile --to mlflow": WARNS, "transect export runs/smile --to wandb": WARNS},
        small={"--subjects": 8},
        replace={
            "transect demo": "transect audit opencv:haarcascade_frontalface_default --truth face --vary glasses=0,2"
        },
    ),
    "docs/how-to/run-on-a-cluster.md": Page(
        {
            "transect audit resnet:model": CLUSTER,
            "transect invert --generator reference": ON_WORKERS,
            "transect invert encode --generator reference": ON_WORKERS,
            "transect recognition thumbnail:embed": ON_WORKERS,
            "transect audit opencv:haarcascade_frontalface_default --vary glasses --truth face --subjects 400 --size 64 --engine ray": CLUSTER,
            "transect view s3:": "serves until it is stopped; tests/jobs/audit/test_object_storage.py looks at it",
            "aws s3 sync": "needs the AWS command line; tests/jobs/audit/test_object_storage.py copies a run",
            "transect export runs/glasses": "of the copy",
        },
        (files.object_storage,),
        small={"--subjects": 4, "--size": 32},
        extra={
            "transect audit opencv:haarcascade_frontalface_default --truth face --vary glasses=0,2 --out": "--subjects 3 --size 48 --no-control"
        },
    ),
    "docs/how-to/gate-a-build.md": Page(extra={"transect audit": "--size 96"}),
    "docs/how-to/install.md": Page(
        {
            "pip install --no-deps transect": "nothing is installed here; tests/cli/test_extras_absent.py runs without PyTorch",
            "pip install -c constraints.txt": "the libraries that the line above leaves out",
        },
        small={"--subjects": 3, "--size": 32},
    ),
    "docs/how-to/reproduce-a-run.md": Page(
        {
            "ssh-keygen": "a program of OpenSSH; the page's keys are made as it makes them",
            "python examples/studies": "runs for minutes; tests/protocols",
        },
        (files.signing_keys, smile_model, files.latents_and_people),
        small={"--subjects": 4, "--size": 32, "--budget": 20},
    ),
    "docs/tutorials/audit-a-detector.md": Page(small={"--images": 120}, full=True, compare=False),
    "docs/tutorials/audit-a-vision-language-model.md": Page(
        {
            "transect targets check local.toml": "asks a server of the reader's own",
            "transect audit local.toml": "asks a server of the reader's own",
        },
        small={"--subjects": 40, "--size": 64},
        full=True,
        compare=False,
    ),
    "docs/tutorials/audit-on-photographs.md": Page(
        small={"--subjects": 16, "--size": 64},
        extra={"transect audit": "--no-control"},
        replace={"glasses=none,dark --subjects 20": "glasses=none,dark --subjects 4"},
    ),
    "docs/tutorials/audit-a-face-api.md": Page({"cd examples/face_api": NODE}, (files.face_api,)),
    "docs/research/counterfactual-recognition.md": Page(
        made=(files.face_weights,),
        small={"--subjects": 15},
        replace={"dlib:face-recognition@models": "thumbnail:embed --task embedding"},
    ),
    "docs/research/coverage.md": Page({"python tests": "takes minutes; tests/statistical checks the page"}),
    "docs/research/first-screens.md": Page(
        {"python -m tools.first_screens": "writes this page, in minutes"}, compare=False
    ),
    "docs/research/faceworld.md": Page({"python -m validation": VALIDATION}),
    "docs/research/proving-ground.md": Page({"python -m validation": VALIDATION}),
    "docs/research/benchmarks.md": Page({"python -m benchmarks": SPEED, "make bench": SPEED}),
    "docs/research/speed.md": Page({"python benchmarks": SPEED}),
    "docs/research/inversion-figures.md": Page({"python examples/replications": "writes this page, in minutes"}),
    "docs/research/leakage.md": Page(
        {
            "python benchmarks": SPEED,
            "python -m examples.replications.imsitu_leakage imsitu_verb_gender.parquet --rounds": "trains 40 networks; tests/attacks",
        },
        (files.verbs,),
    ),
    "docs/research/mitigation.md": Page(
        {
            "python -m validation.advice_experiment": "trains for minutes; tests/validation/test_advice_experiment.py",
            "transect mitigate examples/mitigation.toml": "takes half an hour; the page mitigate.md runs a small file",
            "python -m validation.mitigation_figure": "draws the figures of that run",
        }
    ),
    "docs/research/published-gans.md": Page(
        {
            "transect train gan faceworld --arch conditional --condition 'glasses!=none' --condition skin_tone=5.5 --size 128": GPU
        },
        small={"--images": 8, "--size": 32},
        extra={"transect train gan": f"{TINY_GAN} --grow 16:4 --fade 2"},
    ),
    "docs/research/reference-generator.md": Page(
        made=(my_model,),
        small={"--images": 8, "--size": 32},
        extra={
            "transect train gan": "--count 40 --batch 4 --channels 64 --max-channels 8 --distil 8 --blend 4 --grow 16:4 --fade 2"
        },
    ),
    "docs/research/replication-balakrishnan2020.md": Page(
        {"transect": "needs a StyleGAN2 and raters; tests/ratings and tests/analysis have each option"}
    ),
    "docs/research/replication-denton2019.md": Page(
        {"transect": "needs CelebA and days of training; docs/how-to/walk-a-latent-space.md has the chain, small"}
    ),
    "docs/research/replication-singh2021.md": Page(
        made=(files.face_weights,),
        small={"--subjects": 15},
        replace={
            "dlib:face-recognition@models": "thumbnail:embed",
            # dlib's landmarks are the reader's own
            "--landmarks models/shape_predictor_68_face_landmarks.dat ": "",
            "--attribute read_yaw --attribute read_pitch --attribute read_roll ": "",
        },
    ),
    "docs/research/replication-wang2019.md": Page(
        {
            "transect leakage --labels coco": "the data set is the reader's: tests/datasets/test_labels_of_scenes.py",
            "transect leakage --labels imsitu:": "the data set is the reader's: tests/datasets/test_labels_of_scenes.py",
        },
        (files.verbs,),
        replace={"--f1 90,80,70,60,50,40.11,30,20": "--f1 90,60"},
        extra={"transect leakage": "--permutations 2"},
    ),
    "docs/how-to/ask-a-vision-language-model.md": Page(
        {"transect annotate": "people code the texts; tests/annotation/test_texts_for_people.py"},
        (files.tiny_vlm, files.scorer),
        extra={
            "transect datasets sample": PEOPLE,
            "transect match": "--caliper 3",
            "transect audit": "--max-failures 1",
        },
        replace={"--judge judge.toml": "--judge vlm:models/tiny"},
        small={"--subjects": 8, "--size": 32},
    ),
    "docs/how-to/audit-a-hugging-face-model.md": Page(
        {
            "transect audit hf:models/clip": "tests/targets/hf/test_hf_zero_shot.py builds a CLIP",
            "transect audit hf:models/detector": "tests/targets/hf/test_hf_detection.py builds a detector",
        },
        extra={
            "transect datasets sample": PEOPLE,
            "transect audit opencv:haarcascade_frontalface_default": "--size 32",
        },
        small={"--subjects": 2},
    ),
    "docs/how-to/compare-and-replicate.md": Page(
        {"transect replicate runs/rendered runs/photographs": "photographs are the reader's; tests/jobs/replicate"},
        (files.faces,),
        small={"--subjects": 4, "--size": 64},
        extra={"transect audit": "--no-control"},
    ),
    "docs/how-to/compare-face-recognition.md": Page(
        {
            "transect recognition dlib:": "dlib's weights are the reader's own; tests/jobs/recognition",
            "transect recognition arcface.onnx": "the weights are the reader's own; tests/jobs/recognition",
            "transect audit dlib:": "dlib's weights are the reader's own; docs/research/counterfactual-recognition.md runs it",
        },
        (files.attributes_table,),
        extra={"transect datasets sample": "--people 120"},
    ),
    "docs/how-to/audit-an-http-api.md": Page(made=(files.detection_server,)),
    "docs/how-to/audit-on-your-photographs.md": Page(made=(twenty_faces,), small={"--subjects": 16, "--size": 64}),
    "docs/how-to/audit-photographs.md": Page(
        made=(files.celeba,),
        small={"--subjects": 60},
        after={"transect report runs/photographs --ratings": files.photographs_have_every_section},
    ),
    "docs/how-to/audit-your-own-model.md": Page(
        {
            "transect targets check emotion_model": "needs the file of a package",
            "transect audit 320n.onnx": "needs the file of a package",
        },
        (files.package, expression),
    ),
    "docs/research/view.md": Page({"python benchmarks": SPEED}),
    "docs/how-to/plan-and-project.md": Page(small={"--subjects": 8}),
    "docs/how-to/rate-with-people.md": Page(
        {
            "transect annotate serve runs/smile --database": "another machine; tests/annotation runs on PostgreSQL",
            "transect annotate serve runs/drawn": CONDITIONAL,
            "transect annotate questions runs/drawn": CONDITIONAL,
            "transect annotate invite runs/drawn": CONDITIONAL,
            "transect annotate validate runs/drawn": CONDITIONAL,
            "transect render --data-set --generator runs/conditional": CONDITIONAL,
        },
        (my_model, files.faces, files.people, files.rated_images),
        small={"--subjects": 25},
        extra={
            "transect audit opencv:haarcascade_smile --vary smile": "--subjects 2",
            "transect audit opencv:haarcascade_smile --generator photographs": "--subjects 2",
            "transect audit my_model.onnx --task binary --truth": "--subjects 4",
            "transect invert": "--steps 2",
            "transect render --generator reference": "--subjects 3",
        },
        after={
            "transect annotate invite runs/smile": files.raters_answer,
            "transect annotate invite runs/covered": files.raters_answer,
            "transect annotate invite runs/faces": files.quality_answers,
            "transect annotate invite runs/inverted": files.pair_answers,
            "transect annotate export runs/smile --format mturk": files.crowd_results,
        },
    ),
    "docs/how-to/mitigate.md": Page(
        replace={
            "seeds = [0, 1, 2]": "seeds = [0]",
            'attackers = ["logistic", "trees", "mlp-2"]': 'attackers = ["logistic"]\nrounds = 1',
            "train = 3000": "size = 32\ntrain = 60",
            "check = 500": "check = 40",
            "test = 2000": "test = 40",
            '[[mitigations]]\nkind = "noise"': "[network]\nwidths = [4, 4, 4]\n\n[training]\nepochs = 1\nbatch = 20\n\n"
            '[audit]\nsubjects = 6\n\n[[mitigations]]\nkind = "noise"',
            "weight = 1.0": "weight = 1.0\nepochs = 1\ncritic_epochs = 1",
            'start = "balanced data"': 'start = "balanced data"\nepochs = 1\ncritic_epochs = 1',
        }
    ),
    "docs/how-to/invert-photographs.md": Page(
        {
            "transect invert --generator ffhq.safetensors --images faces --out runs/vgg": "VGG16's weights are a download",
            "python examples/replications": "inverts five times; tests/protocols",
            "transect audit my_model.onnx": "its directions are made on the page walk-a-latent-space.md",
            "transect directions fit mine": "needs labels of hundreds of photographs: tests/jobs/directions",
        },
        (files.stylegan2, files.faces, files.faces_table, files.face_weights),
        small={"--size": 64, "--subjects": 80},  # directions are fitted to 50 labels or more
        extra={
            "transect audit opencv:haarcascade_smile --generator reference": "--subjects 3",
            "transect invert --generator ffhq.safetensors": "--steps 3 --fit",
            "transect invert --generator reference": "--steps 3",
            "transect train encoder": "--images 8 --batch 4",
            "transect render --data-set --subjects 4 --seed 7": "--subjects 2",  # a twin takes three seconds
        },
    ),
    "examples/studies/README.md": Page({"python examples/studies": "runs for minutes; tests/protocols"}),
    "docs/how-to/search-for-failures.md": Page(
        {"python benchmarks": "searches for minutes"}, full=True, compare=False, unseen=(CONDITIONS,)
    ),
    "docs/how-to/train-a-generator.md": Page(
        {
            "transect train classifier 'celeba": GPU,
            "transect train classifier 'fairface": GPU,
        },
        made=(files.faces,),
        small={"--images": 8, "--size": 32, "--count": 200},
        extra={
            "transect train gan": TINY_GAN,
            "transect train gan faceworld --arch conditional": "--images 8 --size 32",
            "transect train gan faceworld --size 64 --distil": "--z-dim 100 --distil 4 --blend 4",
            "transect train encoder": "--images 8",
            "transect train classifier faceworld": "--size 32 --epochs 2 --arch resnet18",
        },
        replace={
            "size=64, images=1_000_000": "size=32, count=8, images=8",
            "(batch=32)": "(batch=4, channels=64)",
            '"runs/encoder-python", space="w"': '"runs/encoder-python", space="w", images=8',
            '"smile>0.5", "smile-python",': '"smile>0.5", "smile-python", count=120,',
        },
    ),
    "docs/how-to/use-a-diffusion-pipeline.md": Page(
        made=(files.package, files.diffusion_pipeline, files.inpainting_pipeline, files.faces, glasses_model),
        small={"--subjects": 4},  # of four photographs
        replace={
            "steps = 30": "steps = 3",
            "image_size = 512": "image_size = 16",
            "a passport photograph of a {age} person {glasses}, plain background": "a {age} person {glasses}",
            "25 year old": "young",
            "70 year old": "old",
            "without glasses": "without",
            "wearing glasses": "glasses",
            "a photograph of a person ": "",
            "a photograph of an old person": "old",
        },
    ),
    "docs/how-to/walk-a-latent-space.md": Page(
        {
            "transect train convert": "official pickles: tests/generators/stylegan2/test_checkpoint_reading.py",
            "transect directions import": "hyperplanes of others: tests/jobs/directions",
            "transect invert encode": "its photographs are the reader's: tests/jobs/encode has the chain, small",
            "transect directions fit faces.safetensors --generator ffhq.safetensors --latents": "the same chain",
            "transect audit my_model.onnx --task binary --generator ffhq.safetensors --directions faces.safetensors "
            "--steps Young": "the same chain",
            "transect directions fit smiles": "asks a model about 2,000 images: tests/jobs/directions",
            "transect audit my_model.onnx --task binary --generator ffhq.safetensors --directions faces.safetensors "
            "--vary smile --check": "four models of the reader's: tests/experiment/test_edits.py",
        },
        (files.stylegan2, my_model, files.seed_labels),
        extra={"transect directions fit d.safetensors": "--subjects 200"},
    ),
    "docs/how-to/measure-leakage.md": Page(
        {
            "transect leakage --labels coco": "the data set is the reader's: tests/datasets/test_labels_of_scenes.py",
            "transect leakage --labels imsitu": "the data set is the reader's: tests/datasets/test_labels_of_scenes.py",
        },
        (files.leaky_tables,),
        extra={
            "transect leakage": "--rounds 1 --permutations 2 --no-curve",
            "transect datasets sample": "--people 120",
        },
    ),
    "docs/how-to/read-pose-and-light.md": Page(
        {
            "transect match readings faces.parquet --pictures image --prefix read_ --out posed": POINTS,
        },
    ),
    "docs/how-to/match-photographs.md": Page(made=(files.attributes_table, smile_model)),
}
