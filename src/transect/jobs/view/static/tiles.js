// A list of any length of which only what can be seen is in the page. The window scrolls; lines come in pages.

const PAGE = 200;
const GAP = 8;
const AHEAD = 2;         // rows above and below the window
const SETTLE = 60;       // milliseconds that a tile must stay before its picture is asked for

export class Tiles {
  /** list: the <ul>; fetchPage(start): a promise of {count, lines}; draw(line): the tile's link; open(line). */
  constructor(list, { fetchPage, draw, wide, tall, received }) {
    Object.assign(this, { list, fetchPage, draw, wide, tall, received });
    this.drawn = new Map();
    this.current = 0;
    this.clear();
    addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(list.parentElement);
    list.addEventListener("keydown", event => this.key(event));
    list.addEventListener("focusin", event => this.focused(event));
  }

  clear() {
    this.generation = (this.generation || 0) + 1;
    this.count = null;
    this.pages = new Map();
    this.current = 0;
    this.list.replaceChildren();
    this.drawn.clear();
  }

  /** Ask for everything again, and show it from the top. */
  async restart() {
    this.clear();
    await this.load(0);
  }

  async load(page) {
    if (this.pages.has(page)) return;
    const generation = this.generation;
    this.pages.set(page, null);
    try {
      const reply = await this.fetchPage(page * PAGE);
      if (generation !== this.generation) return;
      const lines = reply.lines;
      for (let start = 0; start * PAGE < lines.length; start += 1) this.pages.set(page + start, lines.slice(start * PAGE, (start + 1) * PAGE));
      if (this.count === null) this.received(reply);
      this.count = reply.count;
      this.redraw();
    } catch (error) {
      if (generation === this.generation) { this.pages.delete(page); this.received({ error }); }
    }
  }

  line(index) {
    const page = this.pages.get(Math.floor(index / PAGE));
    return page ? page[index % PAGE] : null;
  }

  /** The line of an index, when it is there. */
  async lineWhenLoaded(index) {
    await this.load(Math.floor(index / PAGE));
    return this.line(index);
  }

  soon() {
    this.waiting ||= requestAnimationFrame(() => { this.waiting = 0; this.redraw(); });
  }

  measure() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const least = (this.wide() ? 16 : 8) * rem;
    const width = this.list.clientWidth;
    this.columns = Math.max(1, Math.floor((width + GAP) / (least + GAP)));
    this.width = (width - GAP * (this.columns - 1)) / this.columns;
    this.height = this.width / (this.wide() ? 2 : 1) + (this.wide() ? 5.2 : this.tall() ? 7.2 : 6.1) * rem;
  }

  redraw() {
    if (this.list.hidden || this.count === null) return;
    this.measure();
    const step = this.height + GAP;
    this.list.style.height = `${Math.ceil(this.count / this.columns) * step}px`;
    const top = -this.list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / step) - AHEAD) * this.columns;
    const last = Math.min(this.count, Math.max(0, Math.ceil((top + innerHeight) / step) + AHEAD) * this.columns);
    for (const [index, tile] of this.drawn) if ((index < first || index >= last) && !tile.contains(document.activeElement)) { tile.remove(); this.drawn.delete(index); }
    for (let index = first; index < last; index += 1) this.place(index);
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) this.load(page);
  }

  place(index) {
    let tile = this.drawn.get(index);
    const line = this.line(index);
    if (tile && tile.dataset.empty && line) { tile.remove(); this.drawn.delete(index); tile = undefined; }
    if (!tile) {
      tile = document.createElement("li");
      tile.setAttribute("aria-posinset", index + 1);
      tile.setAttribute("aria-setsize", this.count);
      if (line) tile.append(this.draw(line, index)); else tile.dataset.empty = "1";
      this.insert(index, tile);
      setTimeout(() => { if (tile.isConnected) for (const image of tile.querySelectorAll("img[data-src]")) { image.src = image.dataset.src; delete image.dataset.src; } }, SETTLE);
    }
    for (const link of tile.querySelectorAll("a")) link.tabIndex = index === this.current ? 0 : -1;
    const style = tile.style;
    style.width = `${this.width}px`;
    style.height = `${this.height}px`;
    style.transform = `translate(${(index % this.columns) * (this.width + GAP)}px, ${Math.floor(index / this.columns) * (this.height + GAP)}px)`;
  }

  /** Keep the order of the elements that of the list, for readers of the page's text. */
  insert(index, tile) {
    const after = [...this.drawn.keys()].filter(key => key > index).sort((one, other) => one - other)[0];
    this.list.insertBefore(tile, after === undefined ? null : this.drawn.get(after));
    this.drawn.set(index, tile);
  }

  focused(event) {
    const found = [...this.drawn].find(([, tile]) => tile.contains(event.target));
    if (found) this.current = found[0];
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(innerHeight / (this.height + GAP))) * this.columns;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, PageDown: page, PageUp: -page, Home: -this.current, End: this.count - 1 - this.current };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.focus(Math.min(this.count - 1, Math.max(0, this.current + steps[event.key])));
  }

  /** Scroll to an index, and focus its tile. */
  async focus(index) {
    this.current = index;
    const step = this.height + GAP;
    const top = this.list.getBoundingClientRect().top + scrollY + Math.floor(index / this.columns) * step;
    const head = document.querySelector("header").getBoundingClientRect().height;
    if (top - head < scrollY) scrollTo(0, top - head - GAP);
    else if (top + step > scrollY + innerHeight) scrollTo(0, top + step - innerHeight + GAP);
    await this.lineWhenLoaded(index);
    this.redraw();
    this.drawn.get(index)?.querySelector("a")?.focus({ preventScroll: true });
  }
}
