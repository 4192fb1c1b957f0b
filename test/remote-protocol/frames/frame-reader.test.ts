import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FRAME_HEADER_BYTES, FrameError } from "../../../src/remote-protocol/frames/frame.ts";
import { FrameReader, type FrameSink } from "../../../src/remote-protocol/frames/frame-reader.ts";
import { FrameSeals } from "../../../src/remote-protocol/frames/seal.ts";

/** A frame, and what the sink decides about it. */
interface Planned {
  readonly type: number;
  readonly payload: Uint8Array;
  readonly isAdmitted: boolean;
  readonly isReserved: boolean;
}

const KEY = Buffer.alloc(32, 7);

const plans: fc.Arbitrary<Planned[]> = fc.array(
  fc.record({
    type: fc.nat(255),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.integer({ min: 1_000, max: 50_000 }).map((length) => new Uint8Array(length).fill(length)),
    ),
    isAdmitted: fc.boolean(),
    isReserved: fc.boolean(),
  }),
  { maxLength: 12 },
);

function write(frames: readonly Planned[], seals: FrameSeals | undefined): Buffer {
  return Buffer.concat(
    frames.map(({ type, payload }, index) => {
      const framed = Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), payload]);
      framed.writeUInt32BE(payload.length);
      framed.writeUInt8(type, 4);
      framed.writeUInt32BE(index + 1, 5);
      if (seals === undefined) return framed;
      const sealed = Buffer.concat([framed, Buffer.alloc(seals.bytes)]);
      seals.seal(framed, sealed, framed.length);
      return sealed;
    }),
  );
}

/** Splits bytes at the given places; repeated places make empty chunks. */
function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

/** Does what the plans say, and records what it is given. */
class PlannedSink implements FrameSink {
  readonly taken: { readonly id: number; readonly type: number; readonly payload: Buffer }[] = [];
  readonly dropped = new Set<number>();
  held = 0;
  most = 0;
  readonly #plans: readonly Planned[];
  #id = 0;

  constructor(planned: readonly Planned[]) {
    this.#plans = planned;
  }

  admit(_type: number, id: number): boolean {
    this.#id = id;
    const isAdmitted = this.#plans[id - 1]?.isAdmitted === true;
    if (!isAdmitted) this.dropped.add(id);
    return isAdmitted;
  }

  reserve(bytes: number): boolean {
    if (this.#plans[this.#id - 1]?.isReserved !== true) {
      this.dropped.add(this.#id);
      return false;
    }
    this.held += bytes;
    this.most = Math.max(this.most, this.held);
    return true;
  }

  release(bytes: number): void {
    this.held -= bytes;
  }

  take(type: number, id: number, payload: Buffer): void {
    this.taken.push({ id, type, payload: Buffer.from(payload) });
  }
}

const places = fc.array(fc.nat(), { maxLength: 30 });

describe("the reader of frames", () => {
  test.each([false, true])("reads what is not dropped, however it is split (sealed: %s)", (isSealed) => {
    fc.assert(
      fc.property(plans, places, (planned, at) => {
        const seals = (): FrameSeals | undefined => (isSealed ? new FrameSeals(KEY) : undefined);
        const sink = new PlannedSink(planned);
        const reader = new FrameReader(sink, seals());
        for (const chunk of split(write(planned, seals()), at)) reader.push(chunk);
        const kept = planned
          .map(({ type, payload }, index) => ({ id: index + 1, type, payload: Buffer.from(payload) }))
          .filter(({ id }) => !sink.dropped.has(id));
        expect(sink.taken).toEqual(kept);
        expect({ held: sink.held, isInFrame: reader.isInFrame }).toEqual({ held: 0, isInFrame: false });
      }),
    );
  });

  test("reserves no memory for frames that are about no call, so these are never refused", () => {
    const sink = new PlannedSink([
      { type: 2, payload: new Uint8Array(8), isAdmitted: true, isReserved: false },
    ]);
    const reader = new FrameReader(sink, new FrameSeals(KEY));
    const bytes = write(
      [{ type: 2, payload: new Uint8Array(8), isAdmitted: true, isReserved: false }],
      new FrameSeals(KEY),
    );
    for (const byte of bytes) reader.push(Buffer.from([byte]));
    expect(sink.taken).toHaveLength(1);
  });

  test("reserves no more than twice what has arrived of a huge frame, and frees it", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30_000 }), { maxLength: 20 }), (sizes) => {
        const header = Buffer.from([0xff, 0xff, 0xff, 0x00, 1, 0, 0, 0, 1]);
        const all = { type: 1, payload: new Uint8Array(), isAdmitted: true, isReserved: true };
        const sink = new PlannedSink([all]);
        const reader = new FrameReader(sink);
        reader.push(header);
        let arrived = header.length;
        for (const size of sizes) {
          reader.push(Buffer.alloc(size));
          arrived += size;
          expect(sink.held).toBeLessThanOrEqual(Math.max(16_384, arrived * 2));
        }
        reader.close();
        expect(sink.held).toBe(0);
      }),
    );
  });

  test("throws nothing but violations for any bytes, in any pieces", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), places, fc.boolean(), (bytes, at, isSealed) => {
        const sink: FrameSink = {
          admit: (type) => type % 2 === 0,
          reserve: (size) => size % 3 > 0,
          release: () => {},
          take: () => {},
        };
        const reader = new FrameReader(sink, isSealed ? new FrameSeals(KEY) : undefined);
        try {
          for (const chunk of split(Buffer.from(bytes), at)) reader.push(chunk);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(FrameError);
        }
      }),
    );
  });
});
