import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StoredOAuthClientInformation, StoredOAuthTokens } from "@modelcontextprotocol/client";
import { guardFiles } from "../../base/guarded-files.ts";
import { isNewerFormat, newerFormatText } from "../../base/own-files.ts";
import { parseJson } from "../../json/parse.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";

const VERSION = 1;
const MAX_BYTES = 1_024 * 1_024;
const BOUNDS = { length: MAX_BYTES, values: 10_000, members: 10_000 };

/** Permission bits of the group and of other users. */
const OTHERS = 0o077;

/** The credentials for one server. Each part has the `issuer` that it is for. */
export interface Credentials {
  /** How the client is registered at the authorization server. */
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
}

/** The file with the credentials for one server, which is bound to its URL. Only its owner can read it. */
export class CredentialFile {
  readonly path: string;
  readonly #directory: string;
  readonly #resource: string;

  /**
   * @param server The name of the server in the configuration.
   * @param resource The URL of the server.
   */
  constructor(directory: string, server: string, resource: string) {
    const digest = createHash("sha256").update(resource).digest("hex").slice(0, 16);
    this.#directory = directory;
    guardFiles([{ path: directory, isFolder: true }]);
    this.#resource = resource;
    this.path = join(directory, `${server}-${digest}.json`);
  }

  /**
   * Reads the credentials; empty if the file does not exist.
   *
   * @throws {AuthorizationError} if other users can read the file, or it belongs to another server.
   */
  async read(): Promise<Credentials> {
    try {
      await this.#checkDirectory();
      await using handle = await open(this.path, constants.O_RDONLY | constants.O_NOFOLLOW);
      await this.#check(handle, this.path, (await handle.stat()).isFile());
      const { size } = await handle.stat();
      if (size > MAX_BYTES) throw new AuthorizationError(`${this.path} is longer than 1 MiB`);
      return this.#parse(await handle.readFile("utf8"));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return {};
      throw this.#failed("read", error);
    }
  }

  /**
   * Replaces the file as a whole.
   *
   * @throws {AuthorizationError} if it cannot be written, or other users can read the directory.
   */
  async write({ client, tokens }: Credentials): Promise<void> {
    const temporary = `${this.path}.${randomUUID()}.tmp`;
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await this.#checkDirectory();
      {
        await using handle = await open(temporary, "wx", 0o600);
        const text = JSON.stringify({ version: VERSION, resource: this.#resource, client, tokens });
        await handle.writeFile(`${text}\n`);
        await handle.sync();
      }
      await rename(temporary, this.path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw this.#failed("written", error);
    }
  }

  /** Deletes the file. Returns whether there was one. */
  async remove(): Promise<boolean> {
    try {
      await rm(this.path);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw this.#failed("deleted", error);
    }
  }

  async #checkDirectory(): Promise<void> {
    await using handle = await open(this.#directory, constants.O_RDONLY | constants.O_DIRECTORY);
    await this.#check(handle, this.#directory, true);
  }

  async #check(handle: FileHandle, path: string, isRightKind: boolean): Promise<void> {
    const { mode, uid } = await handle.stat();
    if (!isRightKind) throw new AuthorizationError(`${path} is not a file`);
    if (uid !== process.getuid?.()) throw new AuthorizationError(`${path} belongs to another user`);
    if ((mode & OTHERS) !== 0) {
      throw new AuthorizationError(
        `${path} is open to other users: run 'chmod go-rwx' on it, and log in again`,
      );
    }
  }

  #parse(text: string): Credentials {
    const parsed = parseJson(text, BOUNDS);
    const value: JsonValue = "value" in parsed ? parsed.value : null;
    if (isJsonObject(value) && isNewerFormat(value["version"], VERSION))
      throw new AuthorizationError(`${this.path} ${newerFormatText(value["version"], VERSION)}`);
    if (!isJsonObject(value) || value["version"] !== VERSION || value["resource"] !== this.#resource) {
      throw new AuthorizationError(`${this.path} has no credentials for ${this.#resource}: delete it`);
    }
    const { client, tokens } = value;
    return {
      ...(hasText(client, "client_id") && { client: client as StoredOAuthClientInformation }),
      ...(hasText(tokens, "access_token") && { tokens: tokens as unknown as StoredOAuthTokens }),
    };
  }

  #failed(what: string, error: unknown): AuthorizationError {
    if (error instanceof AuthorizationError) return error;
    return new AuthorizationError(`${this.path} cannot be ${what}: ${codeOf(error) ?? "unknown reason"}`);
  }
}

function hasText(value: JsonValue | undefined, member: string): value is JsonObject {
  return isJsonObject(value) && typeof value[member] === "string" && typeof value["issuer"] === "string";
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
