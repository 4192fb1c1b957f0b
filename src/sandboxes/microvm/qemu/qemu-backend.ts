import { createHash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { access, constants, readFile } from "node:fs/promises";
import { buildInitramfs } from "../guest/initramfs.ts";
import type { Machine, MachineBackend, SavedMachine } from "../machine.ts";
import { machineBytes } from "../microvm-limits.ts";
import { type Boot, bootAndSave, devicesOf } from "./boot.ts";
import {
  type Accelerator,
  bootOptions,
  machineOptions,
  QEMU_BYTES,
  RESTORE_OPTIONS,
} from "./command-line.ts";
import { findQemuFiles, type QemuFiles } from "./qemu-files.ts";
import { QemuMachine } from "./qemu-machine.ts";
import { StateCache } from "./state-cache.ts";

const KVM_DEVICE = "/dev/kvm";

/** Options of a {@link QemuBackend}. */
export interface QemuOptions {
  readonly kernel?: string | undefined;
  readonly accelerator: Accelerator | "auto";
  readonly cacheDirectory: string;
}

/** Runs machines with QEMU: each is booted and saved once, and restored for each call. */
export class QemuBackend implements MachineBackend {
  readonly #options: QemuOptions;
  readonly #cache: StateCache;
  readonly #closing = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #files: Promise<QemuFiles & { readonly kernelDigest: string }> | undefined;

  constructor(options: QemuOptions) {
    this.#options = options;
    this.#cache = new StateCache(options.cacheDirectory);
  }

  async save(image: string, toolBytes: number): Promise<SavedMachine> {
    // One at a time: a machine that boots keeps a processor busy, and its memory is not counted.
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
  }

  async #save(image: string, toolBytes: number): Promise<SavedMachine> {
    if (this.#closing.signal.aborted) throw new Error("the sandbox is closed");
    const { kernelDigest, ...files } = await this.#open();
    await this.#cache.open();
    const initramfs = await buildInitramfs(image, files.kernel);
    const memoryBytes = machineBytes(toolBytes, initramfs.length);
    const save = (accelerator: Accelerator): Promise<SavedMachine> => {
      const key = digest(
        JSON.stringify([
          ...[files.version, kernelDigest, digest(initramfs)],
          ...[machineOptions(memoryBytes, accelerator), bootOptions("", "")],
        ]),
      );
      const { kernel, ...programs } = files;
      const boot = { ...programs, kernel: kernel.file, initramfs, memoryBytes, accelerator };
      return this.#saveOnce(key, { ...boot, signal: this.#closing.signal });
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

  async #saveOnce(key: string, boot: Boot): Promise<SavedMachine> {
    const { qemu, confinement, memoryBytes, accelerator } = boot;
    const file =
      (await this.#cache.find(key)) ?? (await bootAndSave(boot, (state) => this.#cache.store(key, state)));
    const args = [...machineOptions(memoryBytes, accelerator), ...RESTORE_OPTIONS];
    const command = confinement.wrap({ command: qemu, args }, { devices: devicesOf(accelerator) });
    const restore = (): Machine => {
      const state = openSync(file, "r");
      try {
        const machine = new QemuMachine(command, [state]);
        void machine.ended.then(async ({ cause }) => {
          if (cause === "failed") await this.#cache.remove(key);
        });
        return machine;
      } finally {
        closeSync(state);
      }
    };
    return { bytes: memoryBytes + QEMU_BYTES, restore };
  }

  /** Finds everything once; if something is missing, the next call looks again. */
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
