import { expect, test } from "bun:test";
import { outcomeOf } from "./result-outcome.ts";

const image = (bytes: number) => ({ type: "image" as const, mimeType: "image/png", data: "A".repeat((bytes * 4) / 3) });
const megabytes = (count: number) => count * 3 * 349_525; // a multiple of three has no padding

test("images beyond 10 MB in one result are left out with the reason, and smaller ones after them are kept", () => {
  const { text, images = [] } = outcomeOf([image(megabytes(4)), image(megabytes(4)), image(megabytes(4)), image(300)], undefined, false);
  expect(images.map(({ base64 }) => (base64.length * 3) / 4)).toEqual([megabytes(4), megabytes(4), 300]);
  expect(text.split("\n")[2]).toBe(`[image/png, ${megabytes(4)} bytes, left out: all images of a result may have 10485760 bytes]`);
});

test("an image of more than 5 MB, and the 21st image, are left out", () => {
  expect(outcomeOf([image(megabytes(6))], undefined, false).images).toBeUndefined();
  const many = outcomeOf(
    Array.from({ length: 21 }, () => image(3)),
    undefined,
    false,
  );
  expect(many.images).toHaveLength(20);
  expect(many.text).toEndWith("at most 20 images can be shown]");
});
