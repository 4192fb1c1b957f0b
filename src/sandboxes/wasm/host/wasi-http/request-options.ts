/** The resource `request-options` of `wasi:http/types`: timeouts in nanoseconds. */
export class RequestOptions {
  #connect: bigint | undefined;
  #firstByte: bigint | undefined;
  #betweenBytes: bigint | undefined;

  connectTimeout(): bigint | undefined {
    return this.#connect;
  }
  /** Fails unless the timeout is `undefined`, because all connections share one connect timeout. */
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
