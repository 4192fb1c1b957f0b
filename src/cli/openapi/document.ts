import { ConfigError } from "../../config/problem.ts";
import {
  type ConfigPath,
  type ConfigSource,
  readConfigFile,
  type SourceBounds,
} from "../../config/source.ts";
import { escapePointer, lookUp, MISSING, parsePointer, UNREACHABLE } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** The largest descriptions of public APIs have 12 MiB. Aliases count as their targets. */
const BOUNDS: SourceBounds = { length: 16 * 1_048_576, values: 1_000_000, roundsIntegers: true };

/** Maximum number of references that lead from one to the next. */
const MAX_HOPS = 32;

/** Why an operation is left out. `message` continues a sentence: "is left out: …". */
export class LeftOutError extends Error {
  override readonly name = "LeftOutError";
}

/** A part of a document, and the path to where it is defined. */
export interface Part {
  readonly value: JsonObject;
  readonly path: ConfigPath;
}

/** A description of an API in OpenAPI 3.0 or 3.1. References are followed within the document only. */
export class OpenApiDocument {
  readonly source: ConfigSource;
  /** Whether its version is 3.0, where siblings of a reference in a schema have no meaning. */
  readonly is30: boolean;
  readonly root: JsonObject;

  private constructor(source: ConfigSource, root: JsonObject, is30: boolean) {
    this.source = source;
    this.root = root;
    this.is30 = is30;
  }

  /**
   * Reads a file of YAML or JSON.
   *
   * @throws {ConfigError} if it cannot be read, is too large, or is not a description in a supported version.
   */
  static async read(file: string): Promise<OpenApiDocument> {
    const source = await readConfigFile(file, file, BOUNDS);
    const { value: root } = source;
    const refuse = (path: ConfigPath, message: string): never => {
      throw new ConfigError([source.problem(path, message)]);
    };
    if (!isJsonObject(root)) return refuse([], "an OpenAPI document must be a map");
    const { openapi, swagger, paths = {} } = root;
    if (swagger !== undefined)
      return refuse(["swagger"], "Swagger 2.0 is not supported: convert the document to OpenAPI 3.0");
    const version = typeof openapi === "string" ? /^3\.[01](?=\.\d+$|$)/.exec(openapi)?.[0] : undefined;
    if (version === undefined) return refuse(["openapi"], "'openapi' must be a version 3.0 or 3.1");
    if (!isJsonObject(paths)) return refuse(["paths"], "'paths' must be a map");
    return new OpenApiDocument(source, root, version === "3.0");
  }

  /**
   * Returns a part of the document: itself, or what its reference leads to.
   *
   * @param what Names the part in the error: `the parameter`.
   * @throws {LeftOutError} if it is not a map, or its reference leads out of the document, to nothing or in a
   *   circle.
   */
  resolve(value: JsonValue | undefined, path: ConfigPath, what: string): Part {
    let part = value;
    let at = path;
    for (let hops = 0; hops <= MAX_HOPS; hops++) {
      if (!isJsonObject(part)) throw new LeftOutError(`${what} is not a map`);
      const { $ref } = part;
      if ($ref === undefined) return { value: part, path: at };
      ({ value: part, path: at } = this.find($ref, what));
    }
    throw new LeftOutError(`the references of ${what} lead in a circle`);
  }

  /**
   * Returns what a reference names.
   *
   * @throws {LeftOutError} if it leads out of the document or to nothing.
   */
  find($ref: JsonValue, what: string): { readonly value: JsonValue; readonly path: ConfigPath } {
    if (typeof $ref !== "string") throw new LeftOutError(`a reference of ${what} is not a text`);
    const path = localPath($ref);
    if (path === undefined)
      throw new LeftOutError(
        `${what} refers to '${$ref}', which is not a place in the document, and is not fetched`,
      );
    const value = lookUp(this.root, path);
    if (value === MISSING || value === UNREACHABLE)
      throw new LeftOutError(`${what} refers to '${$ref}', which does not exist`);
    return { value: value as JsonValue, path };
  }
}

/** The pointer (RFC 6901) of a path: two references to one place have the same. */
export function pointerOf(path: ConfigPath): string {
  return path.map((step) => `/${escapePointer(String(step))}`).join("");
}

/** The path of a reference within the document; `undefined` for any other reference. */
function localPath($ref: string): readonly string[] | undefined {
  if (!/^#(?:\/|$)/.test($ref)) return undefined;
  try {
    return parsePointer(decodeURIComponent($ref.slice(1)));
  } catch {
    return undefined;
  }
}

/** The methods of a path item, as keys. */
const METHODS: readonly string[] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** An operation of the document, before it is read. */
export interface FoundOperation {
  readonly method: string;
  /** The template of the document, such as `/pets/{petId}`. */
  readonly path: string;
  /** `GET /pets/{petId}` */
  readonly title: string;
  /** Absent if the document gives none. */
  readonly id: string | undefined;
  /** The name of its tool. */
  readonly name: string;
  /** Where it is in the document. */
  readonly at: ConfigPath;
  readonly item: Part;
  readonly operation: JsonValue | undefined;
}

/**
 * Finds the operations of a document.
 *
 * @param leaveOut Called for each path whose operations cannot be read.
 */
export function findOperations(
  document: OpenApiDocument,
  leaveOut: (at: ConfigPath, what: string, reason: string) => void,
): readonly FoundOperation[] {
  const { paths } = document.root;
  return Object.entries(isJsonObject(paths) ? paths : {}).flatMap(([path, value]) => {
    if (path.startsWith("x-")) return [];
    const at = ["paths", path];
    try {
      const item = document.resolve(value, at, "its path item");
      return METHODS.filter((key) => item.value[key] !== undefined).map((key): FoundOperation => {
        const operation = item.value[key];
        const method = key.toUpperCase();
        const given = isJsonObject(operation) ? operation["operationId"] : undefined;
        const id = typeof given === "string" && given !== "" ? given : undefined;
        const name = toolName(id ?? "") || toolName(`${key}_${path}`);
        return {
          method,
          path,
          title: `${method} ${path}`,
          id,
          name,
          at: [...item.path, key],
          item,
          operation,
        };
      });
    } catch (error) {
      if (!(error instanceof LeftOutError)) throw error;
      leaveOut(at, path, error.message);
      return [];
    }
  });
}

/** A name that every provider accepts. */
function toolName(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 64);
}
