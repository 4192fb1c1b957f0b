/**
 * A tool that is a program with a kernel of its own: each call runs in a fresh virtual machine without a network
 * (Linux on x86-64). The program reads the arguments of the call as a line of JSON, and writes its output as JSON.
 */
export interface MicrovmImplementation {
  /**
   * The files of the machine: the absolute path of a directory that becomes its root, read-only. `busybox` provides the
   * programs in `/bin` that the directory does not have.
   */
  readonly image: string;
  /** The program: an absolute path in the machine, or a name that is looked up in `/usr/local/bin`, `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Its arguments. Default: none. With the command, at most 2,000 bytes. */
  readonly args?: readonly string[];
}
