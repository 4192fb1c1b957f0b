import { connect as connectTcp, isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import { connect as connectTls } from "node:tls";

/** Where a mail goes, and what. */
export interface Sending {
  readonly host: string;
  readonly port: number;
  /** `always` from the first byte on; `starttls` before anything else is said; `never` only on this machine. */
  readonly tls: "always" | "starttls" | "never";
  readonly login?: { readonly user: string; readonly password: string };
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, with CRLF at the end of each line. No line begins with a dot. */
  readonly message: string;
  /** Certificate authorities to trust in place of the default ones, in PEM. */
  readonly ca?: string | undefined;
  readonly signal: AbortSignal;
}

/** The longest reply of a server, in bytes. */
const MAX_REPLY = 65_536;

/** Whether a text is a mail address that needs no quoting, so that it has no syntax of SMTP or of a header. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(text);
}

/**
 * Sends a mail.
 *
 * @throws {Error} as a rejection, if a recipient or the mail is refused, or the server does not encrypt although it has to.
 */
export async function sendMail(sending: Sending): Promise<void> {
  const { host, port, tls, login, from, to, message, signal, ca } = sending;
  const secured = {
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  };
  const socket = tls === "always" ? connectTls({ ...secured, port }) : connectTcp({ host, port });
  let dialog = new Dialog(socket, signal);
  try {
    await dialog.expect(220);
    let offers = await dialog.say(`EHLO ${ownName()}`, 250);
    if (tls === "starttls") {
      if (!/^STARTTLS$/im.test(offers)) throw new Error("the server offers no STARTTLS");
      await dialog.say("STARTTLS", 220);
      // What has arrived before the encryption could be of anybody.
      dialog.detach();
      dialog = new Dialog(connectTls({ ...secured, socket }), signal);
      offers = await dialog.say(`EHLO ${ownName()}`, 250);
    }
    if (login !== undefined) {
      if (!/^AUTH\b.*\bPLAIN\b/im.test(offers)) throw new Error("the server does not offer AUTH PLAIN");
      const credential = Buffer.from(`\0${login.user}\0${login.password}`).toString("base64");
      await dialog.say(`AUTH PLAIN ${credential}`, 235);
    }
    await dialog.say(`MAIL FROM:<${from}>`, 250);
    for (const address of to) await dialog.say(`RCPT TO:<${address}>`, 250);
    await dialog.say("DATA", 354);
    await dialog.say(`${message}\r\n.`, 250);
    // The mail has been accepted: what the server says to the end changes nothing.
    await dialog.say("QUIT", 221).catch(() => {});
  } finally {
    dialog.close();
  }
}

function ownName(): string {
  const name = hostname();
  return /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(name) ? name : "localhost";
}

/** Says commands, and waits for the reply to each. */
class Dialog {
  readonly #socket: Socket;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => void this.#socket.destroy(new Error("it did not answer in time"));
  #text = "";
  #problem: Error | undefined;
  #wake: () => void = () => {};

  constructor(socket: Socket, signal: AbortSignal) {
    this.#socket = socket;
    this.#signal = signal;
    socket.on("data", (bytes: Buffer) => {
      this.#text += bytes.toString("latin1");
      if (this.#text.length > MAX_REPLY) socket.destroy(new Error("its reply is too long"));
      this.#wake();
    });
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("it closed the connection")));
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  #fail(error: Error): void {
    this.#problem ??= error;
    this.#wake();
  }

  say(command: string, code: number): Promise<string> {
    this.#socket.write(`${command}\r\n`);
    return this.expect(code);
  }

  /** Returns the lines of the next reply, without their codes. */
  async expect(code: number): Promise<string> {
    for (;;) {
      const reply = /^(?:\d{3}-[^\n]*\r\n)*(\d{3})(?: [^\n]*)?\r\n/.exec(this.#text);
      if (reply !== null) {
        this.#text = this.#text.slice(reply[0].length);
        // The text of a reply is the server's, and might repeat what was said: a password.
        if (Number(reply[1]) !== code) throw new Error(`it answered ${reply[1]} in place of ${code}`);
        return reply[0].replace(/^\d{3}[- ]?/gm, "").replaceAll("\r", "");
      }
      if (this.#problem !== undefined) throw this.#problem;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Leaves the socket to another one. */
  detach(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#socket.removeAllListeners("data").removeAllListeners("close");
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#socket.destroy();
  }
}
