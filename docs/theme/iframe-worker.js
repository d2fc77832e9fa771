/* Search when the site is opened from the disk: browsers start no worker from file:, so that a hidden frame takes its place. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      const answer = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      inner.postMessage = (data) => setTimeout(answer, 0, data);
      this.send = (data) => inner.dispatchEvent(new inner.MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.send(data));
      };
      inner.document.body.append(script);
    }
    postMessage(data) {
      if (this.ready) setTimeout(this.send, 0, data);
      else this.waiting.push(data);
    }
    terminate() {}
  };
}
