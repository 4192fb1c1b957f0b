import { expect, test } from "vitest";
import { readVectors } from "../vector.ts";
import { vectorAt } from "./run-kills.ts";

test("The kills of the race bench play every vector before any comes again", () => {
  const { length } = readVectors();
  const played = Array.from({ length }, (_, place) => vectorAt(place, length));
  expect(played.toSorted((one, other) => one - other)).toEqual(played.map((_, index) => index));
});
