/** `wasi:http/types`' resource for time limits, in nanoseconds. */
export class RequestOptions {
  #connect: bigint | undefined;
  #firstByte: bigint | undefined;
  #betweenBytes: bigint | undefined;

  connectTimeout(): bigint | undefined {
    return this.#connect;
  }
  /** How long connecting may take is one limit for all: this one cannot be set. */
  setConnectTimeout(timeout: bigint | undefined): void {
    if (timeout !== undefined) throw undefined;
    this.#connect = timeout;
  }
  firstByteTimeout(): bigint | undefined {
    return this.#firstByte;
  }
  setFirstByteTimeout(timeout: bigint | undefined): void {
    this.#firstByte = timeout;
  }
  betweenBytesTimeout(): bigint | undefined {
    return this.#betweenBytes;
  }
  setBetweenBytesTimeout(timeout: bigint | undefined): void {
    this.#betweenBytes = timeout;
  }
}
