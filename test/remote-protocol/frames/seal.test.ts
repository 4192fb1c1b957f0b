import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameError } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameSeals } from "../../../src/remote-protocol/frames/seal.ts";

const KEY = randomBytes(32);

/** The seal that docs/remote-protocol.md describes. */
function documented(position: number, frame: Uint8Array): Buffer {
  const number = Buffer.alloc(8);
  number.writeDoubleBE(position);
  return createHmac("sha256", KEY).update(number).update(frame).digest().subarray(0, 16);
}

const frames = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.integer({ min: 16_370, max: 16_400 }).map((length) => new Uint8Array(length).fill(length)),
  ),
  { minLength: 1, maxLength: 12 },
);

test("a seal is the HMAC of a frame and of its position, whatever the frames before were", () => {
  fc.assert(
    fc.property(frames, (given) => {
      const [seals, checks] = [new FrameSeals(KEY), new FrameSeals(KEY)];
      for (const [position, frame] of given.entries()) {
        const seal = Buffer.alloc(16);
        seals.seal(Buffer.from(frame), seal, 0);
        expect(seal).toEqual(documented(position, frame));
        checks.check(Buffer.from(frame), seal);
      }
    }),
  );
});

test("a seal is wrong if a bit of it or of its frame is another one, or its frame is at another place", () => {
  const frame = randomBytes(40);
  for (let bit = 0; bit < (40 + 16) * 8; bit++) {
    const changed = Buffer.concat([frame, documented(0, frame)]);
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    const seals = new FrameSeals(KEY);
    expect(() => seals.check(changed.subarray(0, 40), changed.subarray(40))).toThrow(FrameError);
  }
  const second = new FrameSeals(KEY);
  second.skip();
  expect(() => second.check(frame, documented(0, frame))).toThrow(FrameError);
  second.check(frame, documented(2, frame));
});
