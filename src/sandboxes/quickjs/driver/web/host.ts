/** What other groups need of the host: operations on text and bytes, and bytes of what a tool passes. */
export const HOST_SOURCE: string = `({ send, need }) => {
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { isView } = ArrayBuffer;
  const { slice } = ArrayBuffer.prototype;
  const Buffer = ArrayBuffer;
  const Bytes = Uint8Array;
  const bufferOf = ({ buffer, byteOffset, byteLength }) =>
    byteLength === buffer.byteLength ? buffer : apply(slice, buffer, [byteOffset, byteOffset + byteLength]);
  return {
    // Returns a value of JSON, or an ArrayBuffer unless it would be empty. The arguments are primitive.
    host(operation, args, bytes) {
      let message = 'w["' + operation + '"';
      for (let i = 0; i < args.length; i++) message += "," + stringify(args[i]);
      message += "]";
      const reply = bytes === undefined || bytes.byteLength === 0 ? send(message) : send(message, bufferOf(bytes));
      if (reply === undefined) throw new RangeError(operation + ": the call is out of memory or time");
      if (typeof reply !== "string") return reply;
      const { ok, error } = parse(reply);
      if (error === undefined) return ok;
      if (error.name === "TypeError") throw new TypeError(error.message);
      if (error.name === "RangeError") throw new RangeError(error.message);
      throw new (need("errors").DOMException)(error.message, error.name);
    },
    // A longer text crosses the border as bytes, or in pieces: the guest is not interrupted while the host works on it.
    PIECE: 65536,
    // As much as the host decodes at once. Each piece copies the text before it once more.
    BYTES_PIECE: 524288,
    bufferOf,
    bytesOf(source) {
      if (isView(source)) return new Bytes(source.buffer, source.byteOffset, source.byteLength);
      if (source instanceof Buffer) return new Bytes(source);
      throw new TypeError("the bytes must be an ArrayBuffer or a view of one");
    },
  };
}`;
