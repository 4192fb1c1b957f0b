/** Fetch, with whole bodies: `fetch` sends requests to the host, if the grant has `net`. */
export const FETCH_SOURCE: string = `({ need, ask, send: sendText, isCalled, failure }) => {
  const { bytesOf, PIECE } = need("host");
  const { stringify, parse } = JSON;
  const { URL } = need("url");
  const { TextDecoder, TextEncoder } = need("encoding");
  const Bytes = Uint8Array;
  const PromiseOf = Promise;
  const TOKEN = /^[!#$%&'*+\\-.^_\`|~0-9A-Za-z]+$/;
  const FORBIDDEN_VALUE = /[\\0\\r\\n]|[^\\x00-\\xff]/;
  const NULL_BODY = [101, 103, 204, 205, 304];
  const REDIRECTS = [301, 302, 303, 307, 308];

  const nameOf = (name) => {
    const text = String(name);
    if (!TOKEN.test(text)) throw new TypeError("'" + text.slice(0, 64) + "' is not a header name");
    return text.toLowerCase();
  };
  const valueOf = (value) => {
    const text = String(value).replace(/^[\\t\\n\\r ]+|[\\t\\n\\r ]+$/g, "");
    if (FORBIDDEN_VALUE.test(text)) throw new TypeError("a header value has a character that is not allowed");
    return text;
  };

  let fieldsOf;
  class Headers {
    #fields = [];
    static { fieldsOf = (headers) => headers.#fields; }
    constructor(init = undefined) {
      if (init === undefined) return;
      if (typeof init !== "object" || init === null) throw new TypeError("Headers takes an object or a list of pairs");
      const pairs = init instanceof Headers ? init.#fields : init[Symbol.iterator] === undefined ? Object.entries(init) : init;
      for (const pair of pairs) {
        const [...both] = pair;
        if (both.length !== 2) throw new TypeError("Headers takes pairs of a name and a value");
        this.append(both[0], both[1]);
      }
    }
    append(name, value) { this.#fields.push([nameOf(name), valueOf(value)]); }
    delete(name) { const key = nameOf(name); this.#fields = this.#fields.filter(([each]) => each !== key); }
    get(name) {
      const key = nameOf(name);
      const values = this.#fields.filter(([each]) => each === key).map(([, value]) => value);
      return values.length === 0 ? null : values.join(", ");
    }
    getSetCookie() { return this.#fields.filter(([each]) => each === "set-cookie").map(([, value]) => value); }
    has(name) { return this.get(name) !== null; }
    set(name, value) {
      const field = [nameOf(name), valueOf(value)];
      const first = this.#fields.findIndex(([each]) => each === field[0]);
      if (first < 0) this.#fields.push(field);
      else this.#fields = this.#fields.filter(([each], index) => index <= first || each !== field[0]).with(first, field);
    }
    forEach(visit, self) { for (const [name, value] of this) Reflect.apply(visit, self, [value, name, this]); }
    *entries() {
      for (const name of [...new Set(this.#fields.map(([each]) => each))].sort()) {
        if (name === "set-cookie") for (const value of this.getSetCookie()) yield [name, value];
        else yield [name, this.get(name)];
      }
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "Headers"; }
  }

  // Returns the bytes or the text of a body, and the content type that it implies; a stream has to be read first.
  const contentOf = (body) => {
    if (body === null || body === undefined) return { content: null };
    if (typeof body === "object") {
      if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { content: bytesOf(body).slice() };
      const tag = body[Symbol.toStringTag];
      if (tag === "URLSearchParams") return { content: String(body), type: "application/x-www-form-urlencoded;charset=UTF-8" };
      if (tag === "ReadableStream") return { content: body };
      const { Blob, FormData, bytesOfBlob, multipart } = need("blob");
      if (body instanceof Blob) return { content: bytesOfBlob(body), type: body.type || undefined };
      if (body instanceof FormData) { const { bytes, type } = multipart(body); return { content: bytes, type }; }
    }
    return { content: String(body).toWellFormed(), type: "text/plain;charset=UTF-8" };
  };
  const readStream = async (stream) => {
    const chunks = [];
    for await (const chunk of stream) {
      if (!(chunk instanceof Bytes)) throw new TypeError("a body's stream must have chunks that are Uint8Arrays");
      chunks.push(chunk);
    }
    return need("blob").bytesOfBlob(new (need("blob").Blob)(chunks));
  };

  let take, takeOver;
  class Body {
    #content; #isUsed = false; #stream = null; #headers;
    static {
      // Moves the content of a body to another one, which gets no content type from it.
      takeOver = (body) => {
        if (body.bodyUsed) throw new TypeError("the body has been read already");
        const { content } = body.#content;
        body.#isUsed = content !== null;
        return { content };
      };
      take = async (body) => {
        if (body.bodyUsed) throw new TypeError("the body has been read already");
        body.#isUsed = true;
        const { content } = body.#content;
        return content !== null && typeof content === "object" && !(content instanceof Bytes) ? readStream(content) : content;
      };
    }
    constructor(content, headers) {
      this.#content = content;
      this.#headers = headers;
      if (content.type !== undefined && !headers.has("content-type")) headers.set("content-type", content.type);
    }
    get headers() { return this.#headers; }
    get bodyUsed() { return this.#isUsed || (this.#stream?.locked ?? this.#content.content?.locked ?? false); }
    get body() {
      const { content } = this.#content;
      if (content === null) return null;
      if (typeof content === "object" && !(content instanceof Bytes)) return content;
      this.#stream ??= new (need("blob").Blob)([content]).stream();
      return this.#stream;
    }
    async bytes() {
      const content = await take(this);
      return content === null ? new Bytes(0) : typeof content === "string" ? new TextEncoder().encode(content) : content;
    }
    async arrayBuffer() { return bufferOf(await this.bytes()); }
    async text() {
      const content = await take(this);
      return content === null ? "" : typeof content === "string" ? content : new TextDecoder().decode(content);
    }
    async json() { return parse(await this.text()); }
    async blob() { return new (need("blob").Blob)([await this.bytes()], { type: this.#headers.get("content-type") ?? "" }); }
    async formData() {
      const type = this.#headers.get("content-type") ?? "";
      if (!/^application\\/x-www-form-urlencoded *(?:;|$)/i.test(type)) {
        throw new TypeError("formData() reads only application/x-www-form-urlencoded");
      }
      const form = new (need("blob").FormData)();
      for (const [name, value] of new (need("url").URLSearchParams)(await this.text())) form.append(name, value);
      return form;
    }
    contentForClone() {
      if (this.bodyUsed) throw new TypeError("the body has been read already");
      const { content } = this.#content;
      if (content === null || typeof content === "string" || content instanceof Bytes) return this.#content;
      const [mine, theirs] = content.tee();
      this.#content = { content: mine };
      return { content: theirs };
    }
  }
  const bufferOf = (bytes) =>
    bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  const contentForClone = Body.prototype.contentForClone;
  delete Body.prototype.contentForClone;

  let signalOf;
  const CLONE = {};
  const STANDARD_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
  class Request extends Body {
    #url; #method; #redirect; #signal;
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const { method = from?.method ?? "GET", redirect = from?.redirect ?? "manual", signal = from?.signal } = init ?? {};
      const upper = String(method).toUpperCase();
      const written = STANDARD_METHODS.includes(upper) ? upper : String(method);
      if (!TOKEN.test(written)) throw new TypeError("fetch: '" + written.slice(0, 64) + "' is not a method");
      if (redirect !== "manual" && redirect !== "follow") throw new TypeError("fetch: redirect must be 'manual' or 'follow'");
      const body = init?.body ?? null;
      if (body !== null && (upper === "GET" || upper === "HEAD")) throw new TypeError("fetch: a request with the method " + upper + " cannot have a body");
      const content = body !== null ? contentOf(body) : from === undefined ? { content: null } : init === CLONE ? Reflect.apply(contentForClone, from, []) : takeOver(from);
      super(content, new Headers(init?.headers ?? from?.headers));
      this.#url = from?.url ?? new URL(input).href;
      this.#method = written;
      this.#redirect = redirect;
      this.#signal = signal ?? undefined;
    }
    get url() { return this.#url; }
    get method() { return this.#method; }
    get redirect() { return this.#redirect; }
    get signal() { return this.#signal ??= new (need("events").AbortController)().signal; }
    clone() { return new Request(this, CLONE); }
    get [Symbol.toStringTag]() { return "Request"; }
    static { signalOf = (request) => request.#signal; }
  }

  let answer;
  class Response extends Body {
    #status; #statusText; #url = ""; #type = "default"; #isRedirected = false;
    static {
      answer = ({ status, statusText, url, headers }, content, isRedirected) => {
        // A status of the network can be one that a tool cannot give.
        const made = new Response(content.length === 0 ? null : content, { headers });
        made.#status = status;
        made.#statusText = statusText;
        made.#url = url;
        made.#type = "basic";
        made.#isRedirected = isRedirected;
        return made;
      };
    }
    constructor(body = null, init = {}) {
      const status = Number(init?.status ?? 200);
      if (!(status >= 200 && status <= 599)) throw new RangeError("Response: the status must be from 200 to 599");
      if (body !== null && NULL_BODY.includes(status)) throw new TypeError("Response: a response with this status has no body");
      super(contentOf(body), new Headers(init?.headers));
      this.#status = Math.trunc(status);
      this.#statusText = String(init?.statusText ?? "");
    }
    get status() { return this.#status; }
    get statusText() { return this.#statusText; }
    get ok() { return this.#status >= 200 && this.#status < 300; }
    get url() { return this.#url; }
    get type() { return this.#type; }
    get redirected() { return this.#isRedirected; }
    clone() {
      const content = Reflect.apply(contentForClone, this, []);
      const copy = new Response(content.content, { headers: this.headers, statusText: this.#statusText });
      copy.#status = this.#status;
      copy.#url = this.#url;
      copy.#type = this.#type;
      copy.#isRedirected = this.#isRedirected;
      return copy;
    }
    static json(data, init = {}) {
      const written = stringify(data);
      if (written === undefined) throw new TypeError("Response.json: the value is not JSON-serialisable");
      const headers = new Headers(init?.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(written, { ...init, headers });
    }
    static error() {
      const response = new Response();
      response.#status = 0;
      response.#type = "error";
      return response;
    }
    static redirect(url, status = 302) {
      if (!REDIRECTS.includes(status)) throw new RangeError("Response.redirect: the status must be 301, 302, 303, 307 or 308");
      return new Response(null, { status, headers: { location: new URL(url).href } });
    }
    get [Symbol.toStringTag]() { return "Response"; }
  }

  const send = (request, content, resolve, reject) => {
    let pairs = "";
    for (const [name, value] of fieldsOf(request.headers)) pairs += (pairs === "" ? "[" : ",[") + stringify(name) + "," + stringify(value) + "]";
    const isBytes = content !== null && typeof content === "object";
    const target = stringify(request.method) + "," + stringify(request.url) + ",[" + pairs + "]";
    const body = content === null ? "null" : isBytes ? '""' : stringify(content);
    const take = (reply) => {
      const bytes = sendText("b" + reply.body);
      if (bytes === undefined) return reject(failure("TypeError", { code: "insufficient_memory", message: "fetch: the call has no memory for the response's body" }));
      resolve(answer(reply, bytes === "" ? new Bytes(0) : new Bytes(bytes), reply.url !== request.url));
    };
    ask("f", target + "," + body + "," + (request.redirect === "follow"), take, reject, "TypeError", isBytes ? bufferOf(content) : undefined);
  };
  const fetch = async (input, init) => {
    const request = new Request(input, init);
    const signal = signalOf(request);
    signal?.throwIfAborted();
    if (!isCalled()) {
      throw failure("TypeError", { code: "origin_denied", message: "fetch: a module cannot send requests while it is evaluated, only during a call" });
    }
    const taken = await take(request);
    signal?.throwIfAborted();
    const content = typeof taken === "string" && taken.length > PIECE ? new TextEncoder().encode(taken) : taken;
    return new PromiseOf((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      send(request, content, resolve, reject);
    });
  };
  return { Headers, Request, Response, fetch };
}`;
