/** Web Cryptography, as far as it needs no keys: random bytes, if the grant has `random`, and digests. */
export const CRYPTO_SOURCE: string = `({ need }) => {
  const { host, bytesOf } = need("host");
  const { DOMException } = need("errors");
  const INTEGERS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
  const TOKEN = {};
  const Bytes = Uint8Array;
  const HEX = [];
  for (let byte = 0; byte < 256; byte++) HEX.push((byte + 256).toString(16).slice(1));
  // How many bytes the call has drawn: with a seed, they continue here.
  let drawn = 0;
  const draw = (count) => {
    const bytes = new Bytes(count === 0 ? 0 : host("random", [count, drawn]));
    drawn += count;
    return bytes;
  };
  const constructing = (token) => { if (token !== TOKEN) throw new TypeError("Illegal constructor"); };

  class SubtleCrypto {
    constructor(token) { constructing(token); }
    async digest(algorithm, data) {
      const name = String(typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm).toUpperCase();
      if (!["SHA-1", "SHA-256", "SHA-384", "SHA-512"].includes(name)) {
        throw new DOMException("crypto.subtle.digest supports SHA-1, SHA-256, SHA-384 and SHA-512", "NotSupportedError");
      }
      return host("digest", [name], bytesOf(data));
    }
    get [Symbol.toStringTag]() { return "SubtleCrypto"; }
  }
  const subtle = new SubtleCrypto(TOKEN);

  class Crypto {
    constructor(token) { constructing(token); }
    get subtle() { return subtle; }
    getRandomValues(array) {
      if (!INTEGERS.some((type) => array instanceof type)) {
        throw new DOMException("crypto.getRandomValues takes an array of integers", "TypeMismatchError");
      }
      if (array.byteLength > 65536) {
        throw new DOMException("crypto.getRandomValues returns at most 65,536 bytes at once", "QuotaExceededError");
      }
      new Bytes(array.buffer, array.byteOffset, array.byteLength).set(draw(array.byteLength));
      return array;
    }
    randomUUID() {
      const bytes = draw(16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      let text = "";
      for (let i = 0; i < 16; i++) text += (i === 4 || i === 6 || i === 8 || i === 10 ? "-" : "") + HEX[bytes[i]];
      return text;
    }
    get [Symbol.toStringTag]() { return "Crypto"; }
  }
  return { Crypto, SubtleCrypto, crypto: new Crypto(TOKEN) };
}`;
