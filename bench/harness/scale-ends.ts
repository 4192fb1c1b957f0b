import type { Case, Question } from "./case.ts";

/**
 * The question with the cases at both ends of its scale, and those that have no position on it. The ends show a cost that
 * grows with the scale; the positions between them show where.
 */
export function scaleEnds(question: Question): Question {
  const { cases } = question;
  const floorOf = ({ floor = cases[0]?.name }: Case) => floor;
  // Not all floors have something to compare: a position that only they have is none.
  const positions = cases.flatMap((each) => (floorOf(each) === each.name ? [] : (each.at ?? [])));
  const ends = [Math.min(...positions), Math.max(...positions)];
  const compared = cases.filter(
    (each) => floorOf(each) !== each.name && (each.at === undefined || ends.includes(each.at)),
  );
  const names = new Set(compared.flatMap((each) => [each.name, floorOf(each)]));
  return { ...question, cases: cases.filter(({ name }) => names.has(name)) };
}
