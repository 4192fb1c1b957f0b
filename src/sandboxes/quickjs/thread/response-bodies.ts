import type { WireReply } from "./thread-task.ts";

/** The bodies of the responses of one step, which the driver takes as bytes: in a text, they would take twice the memory. */
export class ResponseBodies {
  readonly #bodies: string[] = [];

  /** Writes replies in the driver's format: instead of a body, a response has the number under which it can be taken. */
  textOf(replies: readonly WireReply[]): string {
    const written = replies.map((reply) => {
      if (typeof reply === "string") return reply;
      if ("error" in reply || !isResponse(reply.ok)) return JSON.stringify(reply);
      const { body, ...head } = reply.ok;
      return JSON.stringify({ id: reply.id, ok: { ...head, body: this.#bodies.push(body) - 1 } });
    });
    return `[${written.join(",")}]`;
  }

  /** Returns a body once, and forgets it; an empty text if there is none. */
  take(name: string): string | Uint8Array {
    const index = Number(name);
    const body = this.#bodies[index];
    if (body === undefined || body === "") return "";
    this.#bodies[index] = "";
    return Buffer.from(body, "base64");
  }
}

/** Whether a reply is a response, whose body is in base64. */
function isResponse(ok: unknown): ok is { readonly body: string } {
  return typeof ok === "object" && ok !== null && "body" in ok && typeof ok.body === "string";
}
