import { createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { Redaction } from "../../../../redaction/redaction.ts";

/** A secret, as a config refers to it. */
export interface SecretPlace {
  readonly file: string;
}

/** The files with the secrets of the servers of one config: outside of its folder, and only their owner can read them. */
export class SecretFiles {
  readonly #folder: string;
  readonly #written: string[] = [];
  readonly #values = new Map<string, string>();

  /** @param config The path of the config. */
  constructor(config: string) {
    const digest = createHash("sha256").update(resolve(config)).digest("hex").slice(0, 16);
    this.#folder = join(configFolder(), "sandgate", "mcp", digest);
  }

  /**
   * Writes a secret.
   *
   * @param server The name of the server, or the client, to which it belongs.
   * @param name What it is, such as the name of a variable.
   */
  async write(server: string, name: string, value: string): Promise<SecretPlace> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const digits = createHash("sha256").update(`${server}\n${name}`).digest("hex").slice(0, 8);
    const file = join(this.#folder, `${server}-${name.replace(/[^\w-]/g, "_").slice(0, 64)}-${digits}`);
    await rm(file, { force: true });
    await writeFile(file, value, { mode: 0o600, flag: "wx" });
    this.#written.push(file);
    this.#values.set(value, name);
    return { file };
  }

  /** Returns a text in which secrets are replaced by their names. */
  hide(text: string): string {
    let hidden = text;
    const longest = [...this.#values].sort(([a], [b]) => b.length - a.length);
    for (const [value, name] of longest) if (value !== "") hidden = hidden.replaceAll(value, `[${name}]`);
    return hidden;
  }

  /** Removes the files that were written, as nothing refers to them. */
  async remove(): Promise<void> {
    for (const file of this.#written.splice(0)) await rm(file, { force: true });
  }
}

/** Returns for each argument whether it is, or contains, a secret: by its form, or by the option before it. */
export function secretArguments(args: readonly string[]): readonly boolean[] {
  const shown = new Redaction().json([...args]);
  return args.map((argument, index) => shown[index] !== argument);
}

function configFolder(): string {
  const configured = process.env["XDG_CONFIG_HOME"] ?? "";
  return isAbsolute(configured) ? configured : join(homedir(), ".config");
}
