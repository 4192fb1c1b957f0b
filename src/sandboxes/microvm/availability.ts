import { whyNoKvm } from "./qemu/qemu-backend.ts";
import { findQemuFiles } from "./qemu/qemu-files.ts";

/** Whether virtual machines can run here, and how. */
export type MicrovmAvailability =
  | {
      readonly available: true;
      /** The version that QEMU reports. */
      readonly qemu: string;
      /** The file of the machines' kernel. */
      readonly kernel: string;
      /** Whether bubblewrap confines QEMU, in addition to QEMU's own seccomp filter. */
      readonly isConfined: boolean;
      /** Why machines are translated rather than run by the processor. Absent if KVM can be tried. */
      readonly withoutKvm?: string;
    }
  | {
      readonly available: false;
      /** The missing parts, and how to install them. */
      readonly reason: string;
    };

/**
 * Finds out whether virtual machines can run here, without starting one.
 *
 * @param options `kernel` as in `MicrovmOptions`.
 */
export async function microvmAvailability({
  kernel,
}: {
  readonly kernel?: string | undefined;
} = {}): Promise<MicrovmAvailability> {
  try {
    const files = await findQemuFiles(kernel);
    const withoutKvm = await whyNoKvm();
    return {
      available: true,
      qemu: files.version,
      kernel: files.kernel.file,
      isConfined: files.confinement.isActive,
      ...(withoutKvm !== undefined && { withoutKvm }),
    };
  } catch (error) {
    return { available: false, reason: (error as Error).message };
  }
}
