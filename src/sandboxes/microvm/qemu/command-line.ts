import { GUEST_DIRECTORY } from "../guest/first-process.ts";

/** How a machine's instructions are run: by the processor, or translated by QEMU. */
export type Accelerator = "kvm" | "tcg";

/** The first descriptor of QEMU after the standard ones: those of the four ports follow, in their order. */
export const FIRST_PORT_FD = 3;
export const PORTS = 4;

/** The descriptors of a booting machine: the kernel's console, and QEMU's monitor. */
export const CONSOLE_FD = 7;
export const MONITOR_FD = 8;

/**
 * The descriptors of a restored machine: the saved state; QEMU's monitor; the saved memory if it is mapped.
 */
export const STATE_FD = 7;
export const RESTORE_MONITOR_FD = 8;
const MEMORY_FD = 9;

const MIB = 1_024 * 1_024;

/** Megabytes for translated code. Default of QEMU: up to 1 GiB. */
const TRANSLATION_MIB = 32;

/** Bytes that QEMU takes in addition to the machine's memory. */
export const QEMU_BYTES: number = (TRANSLATION_MIB + 64) * MIB;

/** Options of the guest's kernel. */
const KERNEL_OPTIONS = [
  "console=ttyS0",
  "quiet",
  `rdinit=/${GUEST_DIRECTORY}/init`,
  // A kernel that gives up resets the machine, which ends it.
  "panic=-1",
  "oops=panic",
  "random.trust_cpu=on",
  "tsc=reliable",
  // A machine runs one call: it contains nothing to protect from the tool.
  "mitigations=off",
  "lsm=",
  "audit=0",
  "psi=0",
  // Free memory is zero, and takes no space in the saved state.
  "init_on_alloc=0",
  "init_on_free=1",
];

/** The devices of a machine; the same when it boots and when it is restored. */
export function machineOptions(memoryBytes: number, accelerator: Accelerator): readonly string[] {
  return [
    "-M",
    "pc,hpet=off,usb=off,vmport=off",
    "-cpu",
    "max",
    "-smp",
    "1",
    "-m",
    `${memoryBytes / MIB}`,
    "-accel",
    accelerator === "kvm" ? "kvm" : `tcg,tb-size=${TRANSLATION_MIB}`,
    "-nodefaults",
    "-no-user-config",
    "-display",
    "none",
    "-no-reboot",
    "-nic",
    "none",
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
    "-device",
    `virtio-serial-pci,max_ports=${PORTS + 1}`,
    ...Array.from({ length: PORTS }, (_, index) => [
      "-chardev",
      `socket,id=port${index + 1},fd=${FIRST_PORT_FD + index}`,
      "-device",
      `virtserialport,chardev=port${index + 1},nr=${index + 1}`,
    ]).flat(),
    "-device",
    "isa-serial,chardev=console",
  ];
}

/** How a machine boots. */
export function bootOptions(kernel: string, initramfs: string): readonly string[] {
  return [
    "-chardev",
    `socket,id=console,fd=${CONSOLE_FD}`,
    "-chardev",
    `socket,id=monitor,fd=${MONITOR_FD}`,
    "-mon",
    "chardev=monitor,mode=control",
    "-kernel",
    kernel,
    "-initrd",
    initramfs,
    "-append",
    KERNEL_OPTIONS.join(" "),
  ];
}

/** How a machine begins with the saved state, which includes its memory. */
export const RESTORE_OPTIONS: readonly string[] = [
  "-chardev",
  "null,id=console",
  "-incoming",
  `fd:${STATE_FD}`,
];

/** How a machine begins with the saved state, after the monitor got the commands that load it. Its memory is mapped. */
export const MAP_OPTIONS: readonly string[] = [
  "-chardev",
  "null,id=console",
  "-incoming",
  "defer",
  "-chardev",
  `socket,id=monitor,fd=${RESTORE_MONITOR_FD}`,
  "-mon",
  "chardev=monitor,mode=control",
];

/** The memory of a machine that boots: a file, so that it can be mapped later. */
export function bootMemory(memoryBytes: number, file: string): readonly string[] {
  return memoryFile(memoryBytes, file, "on");
}

/** The memory of a machine that is restored: the saved memory, of which it gets pages of its own when it writes to them. */
export function mappedMemory(memoryBytes: number): readonly string[] {
  return memoryFile(memoryBytes, `/proc/self/fd/${MEMORY_FD}`, "off");
}

function memoryFile(memoryBytes: number, file: string, share: "on" | "off"): readonly string[] {
  return [
    "-machine",
    "memory-backend=memory",
    "-object",
    `memory-backend-file,id=memory,size=${memoryBytes},mem-path=${file},share=${share}`,
  ];
}
