/** DOM, sections 2 and 3: events, and signals to abort work. */
export const EVENTS_SOURCE: string = `({ need, log }) => {
  const { DOMException } = need("errors");
  const { performance } = need("global");
  const { setTimeout } = need("timers");
  const TOKEN = {};
  const CAPTURING = 1, AT_TARGET = 2;
  let dispatching, stopped, targeted;

  class Event {
    #type; #init; #target = null; #isDispatching = false; #isStopped = false; #isPrevented = false; #isPassive = false;
    #timeStamp = performance.now();
    static {
      dispatching = (event) => event.#isDispatching;
      stopped = (event) => event.#isStopped;
      targeted = (event, target, isDispatching, isPassive) => {
        event.#target = target;
        event.#isDispatching = isDispatching;
        event.#isPassive = isPassive;
        if (!isDispatching) event.#isStopped = false;
      };
    }
    constructor(type, init = {}) {
      if (arguments.length === 0) throw new TypeError("Event needs a type");
      this.#type = String(type);
      this.#init = { bubbles: !!init?.bubbles, cancelable: !!init?.cancelable, composed: !!init?.composed };
    }
    get type() { return this.#type; }
    get target() { return this.#target; }
    get srcElement() { return this.#target; }
    get currentTarget() { return this.#isDispatching ? this.#target : null; }
    get eventPhase() { return this.#isDispatching ? AT_TARGET : 0; }
    get bubbles() { return this.#init.bubbles; }
    get cancelable() { return this.#init.cancelable; }
    get composed() { return this.#init.composed; }
    get defaultPrevented() { return this.#isPrevented; }
    get returnValue() { return !this.#isPrevented; }
    get cancelBubble() { return this.#isStopped; }
    get timeStamp() { return this.#timeStamp; }
    get isTrusted() { return false; }
    composedPath() { return this.#isDispatching ? [this.#target] : []; }
    preventDefault() { if (this.#init.cancelable && !this.#isPassive) this.#isPrevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.#isStopped = true; }
    get [Symbol.toStringTag]() { return "Event"; }
  }
  for (const at of [Event, Event.prototype]) {
    Object.assign(at, { NONE: 0, CAPTURING_PHASE: CAPTURING, AT_TARGET, BUBBLING_PHASE: 3 });
  }

  class CustomEvent extends Event {
    #detail;
    constructor(type, init = {}) { super(type, init); this.#detail = init?.detail ?? null; }
    get detail() { return this.#detail; }
    get [Symbol.toStringTag]() { return "CustomEvent"; }
  }

  class EventTarget {
    #listeners = [];
    addEventListener(type, callback, options = {}) {
      const { capture, once = false, passive = false, signal } =
        typeof options === "object" && options !== null ? options : { capture: options };
      if (callback === null || callback === undefined || signal?.aborted) return;
      if (typeof callback !== "function" && typeof callback !== "object") {
        throw new TypeError("a listener must be a function or an object");
      }
      const added = { type: String(type), callback, capture: !!capture, once: !!once, passive: !!passive, removed: false };
      if (this.#listeners.some((each) => isSame(each, added))) return;
      this.#listeners.push(added);
      signal?.addEventListener("abort", () => this.removeEventListener(type, callback, options), { once: true });
    }
    removeEventListener(type, callback, options) {
      const capture = typeof options === "object" && options !== null ? options.capture : options;
      const index = this.#listeners.findIndex((each) => isSame(each, { type: String(type), callback, capture: !!capture }));
      if (index < 0) return;
      this.#listeners[index].removed = true;
      this.#listeners.splice(index, 1);
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeError("dispatchEvent takes an Event");
      if (dispatching(event)) throw new DOMException("the event is being dispatched", "InvalidStateError");
      const { type } = event;
      const listeners = this.#listeners.filter((each) => each.type === type);
      for (const listener of listeners) {
        if (listener.removed || stopped(event)) continue;
        targeted(event, this, true, listener.passive);
        if (listener.once) this.removeEventListener(type, listener.callback, listener.capture);
        const { callback } = listener;
        try {
          if (typeof callback === "function") Reflect.apply(callback, this, [event]);
          else callback.handleEvent(event);
        } catch (thrown) {
          log.error(thrown);
        }
      }
      targeted(event, this, false, false);
      return !event.defaultPrevented;
    }
    get [Symbol.toStringTag]() { return "EventTarget"; }
  }
  const isSame = (a, b) => a.type === b.type && a.callback === b.callback && a.capture === b.capture;

  let abort;
  class AbortSignal extends EventTarget {
    #isAborted = false; #reason = undefined; #handler = null; #dependent = [];
    static {
      abort = (signal, reason) => {
        if (signal.#isAborted) return;
        signal.#isAborted = true;
        signal.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
        const dependent = signal.#dependent.splice(0);
        signal.dispatchEvent(new Event("abort"));
        for (const each of dependent) abort(each, signal.#reason);
      };
    }
    constructor(token) {
      if (token !== TOKEN) throw new TypeError("Illegal constructor");
      super();
    }
    get aborted() { return this.#isAborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#isAborted) throw this.#reason; }
    get onabort() { return this.#handler; }
    set onabort(handler) {
      if (this.#handler !== null) this.removeEventListener("abort", this.#handler);
      this.#handler = typeof handler === "function" ? handler : null;
      if (this.#handler !== null) this.addEventListener("abort", this.#handler);
    }
    static abort(reason) {
      const signal = new AbortSignal(TOKEN);
      abort(signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal(TOKEN);
      if (!(Number(ms) >= 0)) throw new TypeError("AbortSignal.timeout takes a number of milliseconds");
      const stop = () => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      setTimeout(stop, Number(ms));
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal(TOKEN);
      const sources = [...signals];
      for (const source of sources) {
        if (!(source instanceof AbortSignal)) throw new TypeError("AbortSignal.any takes signals");
      }
      const aborted = sources.find((source) => source.#isAborted);
      if (aborted !== undefined) abort(signal, aborted.#reason);
      else for (const source of sources) source.#dependent.push(signal);
      return signal;
    }
    get [Symbol.toStringTag]() { return "AbortSignal"; }
  }

  class AbortController {
    #signal = new AbortSignal(TOKEN);
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
    get [Symbol.toStringTag]() { return "AbortController"; }
  }
  return { Event, CustomEvent, EventTarget, AbortSignal, AbortController };
}`;
