import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import type { Issued } from "../../certificates.ts";

/** A mail that a server accepted. */
export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Who logged in: user and password. */
  readonly login: string | undefined;
  readonly isEncrypted: boolean;
  /** With the dots that SMTP added. */
  readonly text: string;
}

/** What {@link MailServer} does. */
export interface MailServerOptions {
  readonly tls?: Issued;
  /** Whether it encrypts from the first byte on. */
  readonly isImplicit?: boolean;
  /** Whether it says nothing of STARTTLS, as with somebody between. */
  readonly hidesStartTls?: boolean;
  /** The recipients that it refuses. */
  readonly refuses?: readonly string[];
}

/** A server of SMTP (RFC 5321), with STARTTLS and AUTH PLAIN. It is closed when the test finishes. */
export class MailServer {
  readonly mails: Mail[] = [];
  /** Every line that clients said, apart from mails. */
  readonly said: string[] = [];
  readonly #options: MailServerOptions;
  readonly #sockets = new Set<Socket>();
  port = 0;

  constructor(options: MailServerOptions = {}) {
    this.#options = options;
  }

  async start(): Promise<this> {
    const { tls, isImplicit } = this.#options;
    const serve = (socket: Socket): void => this.#serve(socket, isImplicit === true);
    const server = isImplicit && tls ? createTlsServer(tls, serve) : createServer(serve);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    this.port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      for (const socket of this.#sockets) socket.destroy();
      server.close();
    });
    return this;
  }

  #serve(socket: Socket, isEncrypted: boolean, isNew = true): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    const { tls, hidesStartTls, refuses = [] } = this.#options;
    const reply = (text: string): void => void socket.write(`${text}\r\n`);
    let mail = { from: "", to: [] as string[], login: undefined as string | undefined };
    let body: string[] | undefined;
    let rest = "";
    const onLine = (line: string): void => {
      if (body !== undefined) {
        if (line !== ".") body.push(line);
        else {
          this.mails.push({ ...mail, isEncrypted, text: body.join("\r\n") });
          body = undefined;
          mail = { ...mail, from: "", to: [] };
          reply("250 2.0.0 accepted");
        }
        return;
      }
      this.said.push(line);
      const [, verb = "", argument = ""] = /^(\S+) ?(.*)$/.exec(line) ?? [];
      if (verb === "EHLO") {
        const offers = [...(tls && !isEncrypted && !hidesStartTls ? ["STARTTLS"] : []), "AUTH LOGIN PLAIN"];
        reply(["250-mail.example", ...offers.slice(0, -1).map((offer) => `250-${offer}`)].join("\r\n"));
        reply(`250 ${offers.at(-1)}`);
      } else if (verb === "STARTTLS" && tls) {
        reply("220 go ahead");
        socket.removeAllListeners("data");
        this.#serve(new TLSSocket(socket, { ...tls, isServer: true }), true, false);
      } else if (verb === "AUTH") {
        const [, user, password] = Buffer.from(argument.split(" ")[1] ?? "", "base64")
          .toString()
          .split("\0");
        mail.login = `${user}:${password}`;
        reply(password === "wrong" ? `535 ${user}:${password} is wrong` : "235 welcome");
      } else if (verb === "MAIL") {
        mail.from = argument;
        reply("250 ok");
      } else if (verb === "RCPT") {
        mail.to.push(argument);
        reply(refuses.some((address) => argument.includes(address)) ? "550 no such user" : "250 ok");
      } else if (verb === "DATA") {
        body = [];
        reply("354 go ahead");
      } else if (verb === "QUIT") {
        reply("221 bye");
      } else reply("502 unknown");
    };
    socket.on("data", (bytes: Buffer) => {
      const lines = (rest + bytes.toString()).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
    });
    if (isNew) reply("220 mail.example");
  }
}
