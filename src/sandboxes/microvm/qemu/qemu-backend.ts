import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { access, constants, readFile, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { entryFile } from "../../../base/package-files.ts";
import { NODE_OPTIONS } from "../../process/landlock/launch-plan.ts";
import { buildInitramfs } from "../guest/initramfs.ts";
import type { MachineBackend, SavedMachine } from "../machine.ts";
import { machineBytes } from "../microvm-limits.ts";
import {
  type Accelerator,
  bootOptions,
  MAP_OPTIONS,
  machineOptions,
  mappedMemory,
  QEMU_BYTES,
  RESTORE_OPTIONS,
  STATE_FD,
} from "./command-line.ts";
import type { CommandLine } from "./confinement.ts";
import { loadState } from "./monitor.ts";
import { findQemuFiles, type QemuFiles } from "./qemu-files.ts";
import { type Boot, bootAndSave, devicesOf, QemuMachine } from "./qemu-machine.ts";
import { StateCache } from "./state-cache.ts";

/** The parts of a {@link QemuSavedMachine}. */
interface SavedMachineParts {
  /** See {@link SavedMachine.bytes}. */
  readonly bytes: number;
  /** The file of the state. */
  readonly file: string;
  /** How QEMU is started. */
  readonly command: CommandLine;
  /** A descriptor of the sealed memory that machines map, which belongs to this; absent if the state has the memory. */
  readonly memory?: number;
  /** Called when a machine could not be restored. May be called again. */
  readonly onFailed: () => void;
}

/** A machine that was saved by QEMU. */
class QemuSavedMachine implements SavedMachine {
  readonly bytes: number;
  readonly #parts: SavedMachineParts;
  #isClosed = false;

  constructor(parts: SavedMachineParts) {
    this.bytes = parts.bytes;
    this.#parts = parts;
  }

  /** @throws {Error} if its file is gone, or this is closed. */
  restore(): QemuMachine {
    const { file, command, memory, onFailed } = this.#parts;
    if (this.#isClosed) throw new Error("the saved virtual machine is closed");
    const state = openSync(file, "r");
    try {
      const machine = new QemuMachine(command, memory === undefined ? [state] : [state, "pipe", memory]);
      if (memory !== undefined) loadState(machine.others[1] as Socket, STATE_FD);
      void machine.ended.then(({ cause }) => {
        if (cause === "failed") onFailed();
      });
      return machine;
    } finally {
      closeSync(state);
    }
  }

  /** Releases the memory that machines map. Running machines are not affected. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#parts.memory !== undefined) closeSync(this.#parts.memory);
  }
}

const KVM_DEVICE = "/dev/kvm";

/** Default of {@link QemuOptions.maxSealedBytes}: about ten small images. */
const MAX_SEALED_BYTES = 512 * 1_024 * 1_024;

/** The unit of a file's `blocks`: see inode(7). */
const BLOCK_BYTES = 512;

/** Options of a {@link QemuBackend}. */
export interface QemuOptions {
  readonly kernel?: string | undefined;
  readonly accelerator: Accelerator | "auto";
  readonly cacheDirectory: string;
  /**
   * Maximum number of bytes of memory that is sealed for machines to map. Machines of further images read it
   * instead.
   */
  readonly maxSealedBytes?: number;
}

/** Runs machines with QEMU: each is booted and saved once, and restored for each call. */
export class QemuBackend implements MachineBackend {
  readonly #options: QemuOptions;
  readonly #cache: StateCache;
  readonly #closing = new AbortController();
  /** Machines with sealed memory. */
  readonly #mapped = new Set<QemuSavedMachine>();
  #sealedBytes = 0;
  #last: Promise<void> = Promise.resolve();
  #files: Promise<QemuFiles & { readonly kernelDigest: string }> | undefined;

  constructor(options: QemuOptions) {
    this.#options = options;
    this.#cache = new StateCache(options.cacheDirectory);
  }

  async save(image: string, toolBytes: number): Promise<SavedMachine> {
    // One at a time: a booting machine keeps a processor busy, and its memory is not counted.
    const saving = this.#last.then(() => this.#save(image, toolBytes));
    this.#last = saving.then(
      () => {},
      () => {},
    );
    return saving;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    for (const saved of this.#mapped) saved.close();
    this.#mapped.clear();
  }

  async #save(image: string, toolBytes: number): Promise<SavedMachine> {
    if (this.#closing.signal.aborted) throw new Error("the sandbox is closed");
    const { kernelDigest, ...files } = await this.#open();
    await this.#cache.open();
    const initramfs = await buildInitramfs(image, files.kernel);
    const memoryBytes = machineBytes(toolBytes, initramfs.length);
    const save = (accelerator: Accelerator): Promise<SavedMachine> => {
      const keyParts = [
        files.version,
        kernelDigest,
        digest(initramfs),
        machineOptions(memoryBytes, accelerator),
        bootOptions("", ""),
      ];
      const { kernel, ...programs } = files;
      const boot = { ...programs, kernel: kernel.file, initramfs, memoryBytes, accelerator };
      return this.#saveOnce({ ...boot, signal: this.#closing.signal }, keyParts);
    };
    const { accelerator } = this.#options;
    if (accelerator !== "auto") return save(accelerator);
    const note = `kvm-${digest(files.version + kernelDigest)}`;
    if ((await whyNoKvm()) !== undefined || (await this.#cache.readNote(note)) !== undefined)
      return save("tcg");
    try {
      return await save("kvm");
    } catch (error) {
      if (this.#closing.signal.aborted) throw error;
      const reason = (error as Error).message;
      const saved = await save("tcg");
      // Written when the same machine has booted without it.
      await this.#cache.writeNote(note, reason);
      process.emitWarning("Virtual machines are emulated, since none boots with KVM", {
        code: "SANDGATE_MICROVM_EMULATED",
        detail: reason,
      });
      return saved;
    }
  }

  async #saveOnce(boot: Omit<Boot, "mapsMemory">, keyParts: readonly unknown[]): Promise<QemuSavedMachine> {
    if (canSealMemory() && boot.confinement.hasProc) {
      const saved = await this.#saveMapped({ ...boot, mapsMemory: true }, [...keyParts, "mapped"]);
      if (saved !== undefined) return saved;
    }
    return this.#saveWhole({ ...boot, mapsMemory: false }, keyParts);
  }

  /** Saves a machine whose memory restored machines map; `undefined` if too much memory is sealed. */
  async #saveMapped(boot: Boot, keyParts: readonly unknown[]): Promise<QemuSavedMachine | undefined> {
    const { memoryBytes, accelerator, confinement, qemu } = boot;
    const { key, file, isNew } = await this.#bootOnce(boot, keyParts);
    // Its holes are not copied.
    const sealedBytes = (await stat(file)).blocks * BLOCK_BYTES;
    if (this.#sealedBytes + sealedBytes > (this.#options.maxSealedBytes ?? MAX_SEALED_BYTES))
      return undefined;
    let memory: number;
    try {
      memory = await sealMemory(file, memoryBytes);
    } catch (error) {
      if (isNew) throw error;
      // The state was damaged meanwhile, for example truncated.
      await this.#cache.remove(key);
      const again = await this.#bootOnce(boot, keyParts);
      if (!again.isNew) throw error;
      memory = await sealMemory(again.file, memoryBytes);
    }
    this.#sealedBytes += sealedBytes;
    const args = [...machineOptions(memoryBytes, accelerator), ...mappedMemory(memoryBytes), ...MAP_OPTIONS];
    const devices = devicesOf(accelerator);
    const saved = new QemuSavedMachine({
      file,
      memory,
      bytes: memoryBytes + QEMU_BYTES,
      command: confinement.wrap({ command: qemu, args }, { devices, descriptors: true }),
      onFailed: () => {
        if (this.#mapped.delete(saved)) this.#sealedBytes -= sealedBytes;
        saved.close();
        void this.#cache.remove(key);
      },
    });
    this.#mapped.add(saved);
    return saved;
  }

  /** Saves a machine whose memory restored machines read with the state. */
  async #saveWhole(boot: Boot, keyParts: readonly unknown[]): Promise<QemuSavedMachine> {
    const { memoryBytes, accelerator, confinement, qemu } = boot;
    const { key, file } = await this.#bootOnce(boot, keyParts);
    const args = [...machineOptions(memoryBytes, accelerator), ...RESTORE_OPTIONS];
    return new QemuSavedMachine({
      file,
      bytes: memoryBytes + QEMU_BYTES,
      command: confinement.wrap({ command: qemu, args }, { devices: devicesOf(accelerator) }),
      onFailed: () => void this.#cache.remove(key),
    });
  }

  /** Boots and saves a machine, unless its file is in the cache. */
  async #bootOnce(
    boot: Boot,
    keyParts: readonly unknown[],
  ): Promise<{ key: string; file: string; isNew: boolean }> {
    const key = digest(JSON.stringify(keyParts));
    const store = (state: Readable, memory: string | undefined) => this.#cache.store(key, state, memory);
    const known = await this.#cache.find(key);
    return { key, file: known ?? (await bootAndSave(boot, store)), isNew: known === undefined };
  }

  /** Finds everything once. If something is missing, the next call searches again. */
  #open(): Promise<QemuFiles & { readonly kernelDigest: string }> {
    this.#files ??= this.#find().catch((error) => {
      this.#files = undefined;
      throw error;
    });
    return this.#files;
  }

  async #find(): Promise<QemuFiles & { readonly kernelDigest: string }> {
    const files = await findQemuFiles(this.#options.kernel);
    return { ...files, kernelDigest: digest(await readFile(files.kernel.file)) };
  }
}

/** Why KVM cannot be tried here; `undefined` if it can. */
export async function whyNoKvm(): Promise<string | undefined> {
  try {
    await access(KVM_DEVICE, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    return `${KVM_DEVICE} cannot be used`;
  }
}

function digest(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Whether {@link sealMemory} can be used: it needs `node:ffi`. */
export function canSealMemory(): boolean {
  return process.platform === "linux" && isBuiltin("node:ffi");
}

/**
 * Copies the memory of a saved machine to a file in memory that cannot be changed, so that machines can map it as they would
 * map a file of their own: a private mapping of QEMU 7 needs a file that is opened for writing.
 *
 * @param file The state with the memory at its end, in the cache.
 * @param bytes The size of the memory.
 * @returns a descriptor of the copy. The copy is gone when it is closed, and no machine has it.
 * @throws {Error} if that is not possible. The message is for operators.
 */
export async function sealMemory(file: string, bytes: number): Promise<number> {
  const memory = openSync(file, "r");
  const child = spawn(
    process.execPath,
    [...NODE_OPTIONS, entryFile("sandboxes/microvm/qemu/seal-memory"), `${bytes}`],
    { env: {}, stdio: ["pipe", "pipe", "pipe", memory] },
  );
  closeSync(memory);
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
  const ended = once(child, "close");
  ended.catch(() => {});
  stdin.on("error", () => {});
  const errors = text(stderr);
  try {
    const first = once(stdout, "data").then(([chunk]) => Number(String(chunk)));
    const descriptor = await Promise.race([first, ended]);
    if (typeof descriptor !== "number" || !Number.isInteger(descriptor))
      throw new Error(`the memory of a machine cannot be sealed: ${(await errors).trim()}`);
    return openSync(`/proc/${child.pid}/fd/${descriptor}`, "r");
  } finally {
    stdin.end();
  }
}
