import { type FileHandle, open } from "node:fs/promises";
import { sharedCopy } from "../../../base/collected-bytes.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import {
  BinaryReader,
  COMPONENT_SECTION,
  isComponent,
  isCoreModule,
  sections,
} from "../core-module/binary.ts";
import { readCoreModule, refuseTooMany, refuseTooManyDefinitions } from "../core-module/core-module.ts";
import { checkCoreName } from "../core-module/core-name.ts";
import { checkImport } from "../interfaces.ts";

/** The largest component, in bytes. */
export const MAX_COMPONENT_BYTES: number = 64 * 1_024 * 1_024;

const MAX_CORE_MODULES = 64;
const MAX_CORE_INSTANCE_DEFINITIONS = 1_024;
const MAX_COMPONENTS = 128;
const MAX_DEPTH = 8;
const MAX_IMPORTS = 256;

/**
 * Checks a component before any other code reads it: its size and structure are bounded, no name in it can become code,
 * and it imports only known interfaces.
 *
 * @returns the interfaces that it imports, without their versions.
 * @throws {ToolPreparationError} with the reason.
 */
export function passComponentGate(binary: Uint8Array): readonly string[] {
  if (isCoreModule(binary)) {
    throw new ToolPreparationError(
      "it is a core module, not a component: convert it, for example with 'wasm-tools component new'",
    );
  }
  const gate = new Gate();
  gate.pass(binary);
  const imports = gate.imports.map(checkImport);
  return [...new Set(imports)];
}

/** Checks a component and its nested components. */
class Gate {
  readonly imports: string[] = [];
  #coreModules = 0;
  #coreInstances = 0;
  #components = 0;
  #definitionBytes = 0;
  #definitions = 0;
  #depth = 0;

  pass(binary: Uint8Array): void {
    if (!isComponent(binary)) throw new ToolPreparationError("it is not a WebAssembly component");
    bound("components", ++this.#components, MAX_COMPONENTS);
    bound("levels of components", ++this.#depth, MAX_DEPTH);
    for (const { id, body } of sections(binary)) {
      const reader = new BinaryReader(body);
      if (id === COMPONENT_SECTION.coreModule) this.#passCoreModule(body);
      else if (id === COMPONENT_SECTION.coreInstance) reader.vector(() => this.#passCoreInstance(reader));
      else if (id === COMPONENT_SECTION.component) this.pass(body);
      else if (id === COMPONENT_SECTION.alias) reader.vector(() => passAlias(reader));
      else if (id === COMPONENT_SECTION.import && this.#depth === 1)
        reader.vector(() => this.#readImport(reader));
    }
    this.#depth--;
  }

  #passCoreModule(binary: Uint8Array): void {
    bound("core modules", ++this.#coreModules, MAX_CORE_MODULES);
    const { definitionBytes, definitions } = readCoreModule(binary);
    this.#definitionBytes += definitionBytes;
    this.#definitions += definitions;
    refuseTooManyDefinitions(this.#definitionBytes);
    refuseTooMany(this.#definitions);
  }

  #passCoreInstance(reader: BinaryReader): void {
    bound("definitions of core instances", ++this.#coreInstances, MAX_CORE_INSTANCE_DEFINITIONS);
    const isInstantiation = reader.byte() === 0;
    if (isInstantiation) reader.u32();
    // Arguments and inline exports both consist of a name, a sort and an index.
    reader.vector(() => {
      checkCoreName(reader.name());
      reader.byte();
      reader.u32();
    });
  }

  #readImport(reader: BinaryReader): void {
    const name = readExternName(reader);
    const kind = readExternType(reader);
    if (kind === "type") return;
    if (kind !== "instance") {
      throw new ToolPreparationError(`it imports '${name}', which is not an interface of WASI 0.2`);
    }
    this.imports.push(name);
    bound("imports", this.imports.length, MAX_IMPORTS);
  }
}

/** Reads the name of a component's import or export. jco's validator checks that it is in kebab case. */
function readExternName(reader: BinaryReader): string {
  if (reader.byte() > 1) throw new ToolPreparationError("it has an import or export name of an unknown form");
  return reader.name();
}

function readExternType(reader: BinaryReader): "instance" | "type" | "other" {
  const sort = reader.byte();
  switch (sort) {
    case 0: // a core module
      reader.byte();
      reader.u32();
      return "other";
    case 3: // a type: equal to another, which needs nothing, or a new resource
      if (reader.byte() === 1) return "other";
      reader.u32();
      return "type";
    case 1: // a function
    case 4: // a component
      reader.u32();
      return "other";
    case 5:
      reader.u32();
      return "instance";
    default:
      throw new ToolPreparationError("it imports or exports something of an unknown kind");
  }
}

/** Reads a sort: a byte, followed by another one if the first means "core". */
function readSort(reader: BinaryReader): void {
  if (reader.byte() === 0) reader.byte();
}

function passAlias(reader: BinaryReader): void {
  readSort(reader);
  const target = reader.byte();
  reader.u32();
  if (target === 1) checkCoreName(reader.name());
  else if (target === 0) reader.name();
  else reader.u32();
}

function bound(what: string, count: number, most: number): void {
  if (count > most) throw new ToolPreparationError(`it has too many ${what}: at most ${most} are allowed`);
}

/**
 * Returns a component's bytes: a copy, so that they cannot change after they were checked. Threads share it.
 *
 * @throws {ToolPreparationError} if it cannot be read or is too large.
 */
export async function readComponentBytes(component: WasmImplementation["component"]): Promise<Uint8Array> {
  if (component instanceof Uint8Array) {
    refuseTooLarge(component.length);
    return sharedCopy(component);
  }
  try {
    const isUrl = typeof component === "string" && component.startsWith("file:");
    await using file = await open(isUrl ? new URL(component) : component);
    const status = await file.stat();
    if (!status.isFile()) throw new ToolPreparationError(`${String(component)} is not a file`);
    refuseTooLarge(status.size);
    return await readAll(file, status.size);
  } catch (error) {
    if (error instanceof ToolPreparationError) throw error;
    throw new ToolPreparationError(`the component cannot be read: ${String(error)}`);
  }
}

/** Reads as many bytes as a file had. */
async function readAll(file: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function refuseTooLarge(bytes: number): void {
  if (bytes > MAX_COMPONENT_BYTES) {
    throw new ToolPreparationError(`the component is larger than ${MAX_COMPONENT_BYTES} bytes`);
  }
}
