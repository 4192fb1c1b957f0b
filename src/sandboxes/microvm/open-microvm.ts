import type { GuestMemory } from "../contract/guest-memory.ts";
import { MicrovmSandbox } from "./microvm-sandbox.ts";
import type { Accelerator } from "./qemu/command-line.ts";
import { QemuBackend } from "./qemu/qemu-backend.ts";
import { defaultCacheDirectory } from "./qemu/state-cache.ts";

/** Default of {@link MicrovmOptions.memoryBytes}: four machines of the least size. */
const DEFAULT_MEMORY_BYTES = 1_024 * 1_024 * 1_024;

/** Options of the sandbox `microvm`. */
export interface MicrovmOptions {
  /**
   * The file of the machines' kernel, from Debian's package `linux-image-cloud-amd64`. Its modules are in
   * `../lib/modules`. Default: the newest `/boot/vmlinuz-*-cloud-amd64`.
   */
  readonly kernel?: string;
  /**
   * How machines run: by the processor (`kvm`), translated by QEMU (`tcg`), or with KVM if a machine boots with it
   * (`auto`), which is tried once. Default: `"auto"`.
   */
  readonly accelerator?: Accelerator | "auto";
  /** How many machines are kept ready for the next calls. They count towards `memoryBytes`. Default: 1. */
  readonly ready?: number;
  /**
   * Bytes of memory that all machines take together; a call waits for it in its turn, up to `workers.maxWaitMs`. A machine
   * takes 224 MiB or more.
   * Default: 1 GiB.
   */
  readonly memoryBytes?: number;
  /** Where booted machines are saved; only this user may have access. Default: `sandgate/microvm` in the user's cache directory. */
  readonly cacheDirectory?: string;
}

/**
 * Opens the sandbox `microvm`. Nothing is looked for or started before the first tool is prepared.
 *
 * @param maxWaitMs How long a call waits for the memory of its machine, in ms.
 * @param memory Where outputs have to have room. Default: one of its own.
 */
export function openMicrovm(
  {
    kernel,
    accelerator = "auto",
    ready = 1,
    memoryBytes = DEFAULT_MEMORY_BYTES,
    cacheDirectory = defaultCacheDirectory(),
  }: MicrovmOptions = {},
  maxWaitMs?: number,
  memory?: GuestMemory,
): MicrovmSandbox {
  const backend = new QemuBackend({ kernel, accelerator, cacheDirectory });
  return new MicrovmSandbox(backend, { ready, memoryBytes }, maxWaitMs, memory);
}
