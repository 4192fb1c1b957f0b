import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_FOLDER } from "../../../base/package-folder.ts";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";

/** A config with calls to look at, in a temporary folder that is deleted with it. */
export class Example implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(): Promise<Example> {
    const folder = makeTemporaryDirectory("console");
    await cp(fileURLToPath(new URL("examples/console", PACKAGE_FOLDER)), folder, { recursive: true });
    return new Example(folder);
  }

  get config(): string {
    return join(this.#folder, "sandgate.yaml");
  }

  get message(): string {
    return join(this.#folder, "message.json");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
