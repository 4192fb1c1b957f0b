/** How many files are read at once. */
const WIDTH = 8;

/** Maps the items of a sequence in order. Reads ahead, as reading a small file is mostly waiting. */
export async function* readAhead<Item, Result>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const reading: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = read(item);
      // It is awaited later.
      result.catch(() => undefined);
      reading.push(result);
      if (reading.length >= WIDTH) yield (await reading.shift()) as Result;
    }
    while (reading.length > 0) yield (await reading.shift()) as Result;
  } finally {
    await Promise.allSettled(reading);
  }
}
