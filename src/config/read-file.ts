import { open } from "node:fs/promises";
import { getSystemErrorMessage } from "node:util";
import { guardFiles } from "../base/guarded-files.ts";
import { inSlices } from "../base/turns.ts";
import { ConfigError } from "./problem.ts";
import { ConfigSource, MAX_CONFIG_LENGTH } from "./source.ts";

/**
 * Reads a configuration file.
 *
 * @param shownAs The file's name in problems. Default: `path`.
 * @throws {ConfigError} if the file cannot be read or is not UTF-8, and like {@link ConfigSource.parse}.
 */
export async function readConfigFile(path: string, shownAs: string = path): Promise<ConfigSource> {
  guardFiles([{ path, access: "read" }]);
  return inSlices(ConfigSource.parsing(await readText(path, shownAs), shownAs), {});
}

async function readText(path: string, file: string): Promise<string> {
  const refuse = (message: string): never => {
    throw new ConfigError([{ file, line: 1, column: 1, severity: "error", message }]);
  };
  try {
    await using handle = await open(path);
    // One more byte than allowed detects a file that is too long. The size in its metadata may be wrong.
    const buffer = new Uint8Array(MAX_CONFIG_LENGTH + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    if (length > MAX_CONFIG_LENGTH) return refuse("the file is longer than 1 MiB");
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { errno, code } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return refuse("the file is not valid UTF-8");
    return refuse(
      `the file cannot be read: ${errno === undefined ? "unknown reason" : getSystemErrorMessage(errno)}`,
    );
  }
}
