import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { SearchKind } from '../schema/search.ts';
import type { FoundText } from './find-texts.ts';
import { type SearchQuery, toTsquery } from './parse-search-query.ts';

/** Weights of PostgreSQL's classes D, C, B, A. */
const WEIGHTS = '{0.1, 0.2, 0.5, 1}';

/** People's words rank before tools' output. */
const CLASSES: Readonly<Record<SearchKind, 'A' | 'B' | 'C' | 'D'>> = {
  prompt: 'A',
  answer: 'B',
  summary: 'C',
  thinking: 'C',
  tool_input: 'D',
  tool_result: 'D',
  context: 'D',
};

/** PostgreSQL keeps no more positions for one lexeme. */
const MAX_LEXEME_POSITIONS = 255;

/** Ranks texts by the nearness of the query's words; a long text ranks lower than a short one. */
export async function rankTexts(
  snapshot: Database,
  found: readonly FoundText[],
  query: SearchQuery,
): Promise<number[]> {
  if (found.length === 0) return [];
  const vectors = sql.param(found.map(toVector));
  const { rows } = await snapshot.execute<{ rank: number }>(sql`
    SELECT ts_rank_cd(${WEIGHTS}::real[], vector::tsvector, ${toTsquery(query)}::tsquery)::float8 AS rank
    FROM unnest(${vectors}::text[]) WITH ORDINALITY AS v (vector, number) ORDER BY number`);
  return found.map(({ length }, index) => Math.fround((rows[index]?.rank ?? 0) / Math.log(length + 2)));
}

/** The words of the query as a tsvector. They consist of letters and digits, so nothing needs escaping. */
function toVector({ positions, kind }: FoundText): string {
  const weight = CLASSES[kind];
  return [...positions]
    .map(([lexeme, places]) => {
      const shown = places.slice(0, MAX_LEXEME_POSITIONS).map((place) => `${place}${weight}`);
      return `'${lexeme}':${shown.join()}`;
    })
    .join(' ');
}
