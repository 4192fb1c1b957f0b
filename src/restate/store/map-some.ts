const AT_ONCE = 64;

/** Maps values to what promises resolve with, some at once, so that many values do not take all connections. */
export async function mapSome<Value, Result>(
  values: readonly Value[],
  map: (value: Value) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < values.length) {
      const index = next++;
      results[index] = await map(values[index] as Value);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, values.length) }, work));
  return results;
}
