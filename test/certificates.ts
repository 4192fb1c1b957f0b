import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its key, in PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate says. */
export interface Subject {
  /** As openssl takes it: `/O=Example/CN=agent`. */
  readonly subject: string;
  /** Its alternative names, with their types: `DNS:localhost`. Default: none. */
  readonly names?: readonly string[];
  /** What it is for. Default: `clientAuth`. */
  readonly use?: "clientAuth" | "serverAuth";
  /** Whether it expired yesterday. Default: `false`. */
  readonly isExpired?: boolean;
}

const SERVER: Subject = {
  subject: "/CN=server",
  names: ["DNS:localhost", "IP:127.0.0.1"],
  use: "serverAuth",
};

/** A certificate authority, made with the `openssl` command. */
export class Authority implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "sandgate-authority-"));
  #serial = 0;

  constructor() {
    const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"];
    this.#openssl(
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ["-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority"],
      extensions.flatMap((extension) => ["-addext", extension]),
    );
  }

  /** The authority's own certificate, in PEM. */
  get cert(): string {
    return this.#read("ca.pem");
  }

  /** Issues a certificate, by default for a server on this machine. */
  issue({ subject, names, use = "clientAuth", isExpired = false }: Subject = SERVER): Issued {
    const name = `issued-${this.#serial++}`;
    const extensions = ["basicConstraints=CA:FALSE", `extendedKeyUsage=${use}`];
    if (names !== undefined) extensions.push("subjectAltName=@names", "[names]");
    for (const [index, named] of names?.entries() ?? []) {
      const [type = "", ...value] = named.split(":");
      extensions.push(`${type}.${index}=${value.join(":")}`);
    }
    writeFileSync(join(this.#folder, `${name}.ext`), `${extensions.join("\n")}\n`);
    this.#openssl(
      ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8"],
      ["-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject],
    );
    this.#openssl(
      ["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
      // openssl 3.0 takes no dates here: a certificate of -1 days ended yesterday.
      ["-out", `${name}.pem`, "-days", isExpired ? "-1" : "2", "-extfile", `${name}.ext`],
    );
    return { cert: this.#read(`${name}.pem`), key: this.#read(`${name}.key`) };
  }

  /** Returns the subject of a certificate as openssl writes it by RFC 2253. */
  subjectOf({ cert }: Issued): string {
    const printed = execFileSync("openssl", ["x509", "-noout", "-subject", "-nameopt", "RFC2253"], {
      input: cert,
    });
    return printed
      .toString()
      .trim()
      .replace(/^subject=/, "");
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #openssl(...args: readonly (readonly string[])[]): void {
    execFileSync("openssl", args.flat(), { cwd: this.#folder, stdio: ["ignore", "ignore", "pipe"] });
  }

  #read(file: string): string {
    return readFileSync(join(this.#folder, file), "utf8");
  }
}
