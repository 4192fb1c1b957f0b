import { isToken } from "../../../../base/http-syntax.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import type { TaggedValue } from "../../abi/value.ts";
import { IoError, OutputStream } from "../wasi/streams.ts";
import { type BodyBudget, BodyBudgetError, ReservedMemory } from "./body-budget.ts";
import { type Field, type Fields, freezeFields, readFields, sharedFields } from "./fields.ts";

/** The size of a chunk in V8's heap without its bytes. */
const CHUNK_BYTES = 320;

// Not a public method, because a component could call it by name.
let take: (body: OutgoingBody) => Buffer | undefined;

/** The resource `outgoing-body` of `wasi:http/types`. The body is buffered and sent when it is complete. */
export class OutgoingBody {
  static {
    take = (body) => {
      if (!body.#isFinished || body.#isOver) return undefined;
      const bytes = Buffer.concat(body.#chunks);
      body.#free();
      return bytes;
    };
  }

  readonly #budget: BodyBudget;
  readonly #reserved: ReservedMemory;
  #chunks: Uint8Array[] = [];
  #isTaken = false;
  #isFinished = false;
  /** Whether the call that created it has ended. */
  #isOver = false;

  constructor(budget: BodyBudget, memory: LiftBudget) {
    this.#budget = budget;
    this.#reserved = new ReservedMemory(memory);
  }

  write(): OutputStream {
    if (this.#isTaken) throw undefined;
    this.#isTaken = true;
    this.#budget.onEnd(() => {
      this.#free();
      this.#isOver = true;
    });
    return OutputStream.to((bytes) => this.#write(bytes));
  }

  #free(): void {
    this.#chunks = [];
    this.#reserved.free();
  }

  #write(bytes: Uint8Array): void {
    if (this.#isFinished) throw { tag: "closed" };
    if (this.#isOver) {
      throw { tag: "last-operation-failed", val: new IoError("the call that created this body has ended") };
    }
    try {
      this.#budget.charge(bytes.length);
    } catch (error) {
      if (!(error instanceof BodyBudgetError)) throw error;
      throw { tag: "last-operation-failed", val: new IoError("the network limit has been reached") };
    }
    this.#reserved.add(bytes.length + CHUNK_BYTES);
    // Copies the bytes, because the component can change its memory.
    this.#chunks.push(Uint8Array.from(bytes));
  }

  static finish(body: OutgoingBody, trailers: Fields | undefined): void {
    body.#isFinished = true;
    if (trailers !== undefined) {
      throw { tag: "internal-error", val: "trailers are not supported" };
    }
  }
}

/** A request to send. */
export interface RequestToSend {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly Field[];
  /** Returns the complete body, once; `undefined` until it is finished and after its call has ended. */
  readonly body: () => Buffer | undefined;
}

// Not a public method, because a component could call it by name.
let read: (request: OutgoingRequest) => RequestToSend | TaggedValue;

/** The maximum length of a method, in characters. */
const MAX_METHOD_LENGTH = 32;

/** A host with an optional port (RFC 3986, section 3.2), without user information. */
const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]]{1,255})(?::[0-9]{1,5})?$/;

/** A path with an optional query (RFC 9112, section 3.2.1). Other characters are percent-encoded later. */
const PATH = /^\/[^\s#]*$/;

/** The resource `outgoing-request` of `wasi:http/types`. */
export class OutgoingRequest {
  static {
    read = (request) => request.#read();
  }

  readonly #budget: BodyBudget;
  readonly #memory: LiftBudget;
  readonly #reserved: ReservedMemory;
  readonly #headers: Fields;
  #method: TaggedValue = { tag: "get" };
  #scheme: TaggedValue | undefined;
  #authority: string | undefined;
  #path: string | undefined;
  #body: OutgoingBody | undefined;

  constructor(budget: BodyBudget, memory: LiftBudget, headers: Fields) {
    freezeFields(headers);
    this.#budget = budget;
    this.#memory = memory;
    this.#reserved = new ReservedMemory(memory);
    this.#headers = headers;
  }

  body(): OutgoingBody {
    if (this.#body !== undefined) throw undefined;
    this.#body = new OutgoingBody(this.#budget, this.#memory);
    return this.#body;
  }
  method(): TaggedValue {
    return this.#method;
  }
  setMethod(method: TaggedValue): void {
    if (method.tag === "other" && !isToken(String(method.val), MAX_METHOD_LENGTH)) throw undefined;
    this.#method = method;
  }
  pathWithQuery(): string | undefined {
    return this.#path;
  }
  setPathWithQuery(path: string | undefined): void {
    if (path !== undefined && path !== "" && !PATH.test(path)) throw undefined;
    this.#path = path;
    this.#reserve();
  }
  scheme(): TaggedValue | undefined {
    return this.#scheme;
  }
  setScheme(scheme: TaggedValue | undefined): void {
    this.#scheme = scheme;
    this.#reserve();
  }
  authority(): string | undefined {
    return this.#authority;
  }
  setAuthority(authority: string | undefined): void {
    if (authority !== undefined && !AUTHORITY.test(authority)) throw undefined;
    this.#authority = authority;
  }
  /** The component can drop these without affecting the request. */
  headers(): Fields {
    return sharedFields(this.#headers);
  }

  [Symbol.dispose](): void {
    this.#reserved.free();
    this.#headers[Symbol.dispose]();
  }

  /** Reserves memory for the parts that can be long. */
  #reserve(): void {
    const length = (this.#path ?? "").length + String(this.#scheme?.val ?? "").length;
    this.#reserved.free();
    this.#reserved.add(length * 2);
  }

  #read(): RequestToSend | TaggedValue {
    const scheme = this.#scheme?.tag.toLowerCase() ?? "https";
    if ((scheme !== "http" && scheme !== "https") || this.#authority === undefined) {
      return { tag: "HTTP-request-URI-invalid" };
    }
    const { tag, val } = this.#method;
    return {
      method: tag === "other" ? String(val) : tag.toUpperCase(),
      url: `${scheme}://${this.#authority}${this.#path || "/"}`,
      fields: readFields(this.#headers),
      body: () => (this.#body === undefined ? Buffer.alloc(0) : takeBody(this.#body)),
    };
  }
}

/** Returns the request to send, or the variant `error-code` if it is invalid. */
export function readRequest(request: OutgoingRequest): RequestToSend | TaggedValue {
  return read(request);
}

/** Returns the complete body, once; `undefined` until it is finished and after its call has ended. */
export function takeBody(body: OutgoingBody): Buffer | undefined {
  return take(body);
}
