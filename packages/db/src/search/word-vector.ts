import type { SearchKind } from './schema.ts';
import { toWords } from './search-words.ts';
import { toWorkspaceLexeme } from './workspace-lexeme.ts';

/** Postgres counts positions no further. */
export const MAX_DOCUMENT_WORDS = 16_383;
/** Postgres keeps no more positions of one lexeme. */
const MAX_LEXEME_POSITIONS = 255;

/** What people wrote ranks before what tools printed. */
const WEIGHTS: Readonly<Record<SearchKind, string>> = {
  prompt: 'A',
  answer: 'B',
  summary: 'C',
  thinking: 'C',
  tool_input: '',
  tool_result: '',
  context: '',
};

/**
 * The words of a text as Postgres reads a tsvector, with the workspace's own. `end` is where the text must be cut, so that
 * it holds no word that is not in the vector.
 */
export function toWordVector(text: string, kind: SearchKind, workspaceId: string): { vector: string; end: number } {
  const positions = new Map<string, number[]>();
  let position = 0;
  let end = text.length;
  for (const word of toWords(text)) {
    if (position === MAX_DOCUMENT_WORDS) {
      end = word.start;
      break;
    }
    position += 1;
    for (const lexeme of word.lexemes) {
      const known = positions.get(lexeme);
      if (known === undefined) positions.set(lexeme, [position]);
      else if (known.length < MAX_LEXEME_POSITIONS) known.push(position);
    }
  }
  const weight = WEIGHTS[kind];
  const lexemes = [toWorkspaceLexeme(workspaceId)];
  for (const [lexeme, places] of positions) {
    lexemes.push(`'${lexeme}':${weight === '' ? places.join() : places.map((place) => place + weight).join()}`);
  }
  return { vector: lexemes.join(' '), end };
}
