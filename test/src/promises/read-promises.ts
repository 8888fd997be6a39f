import { marked, type Token, type Tokens } from 'marked';
import { toText } from './read-blocks.ts';

/** A test that shows a promise, and the command that runs it; without a test what was done by hand, and when. */
export interface Proof {
  path?: string;
  name?: string;
  command: string;
}

/** What docs/promises.md says about a block: its proofs; none if it promises nothing. */
export interface Claim {
  document: string;
  section: string;
  /** How the block begins, or the head of its table. */
  words: string;
  proofs?: Proof[];
}

const TEST = /^`([^`]+)` › (.+)$/;
const NOTHING = /^“(.+?)”: .+$/;

/** Reads docs/promises.md; `faults` are rows and points that have another form. */
export function readPromises(markdown: string): { claims: Claim[]; faults: string[] } {
  const claims: Claim[] = [];
  const faults: string[] = [];
  let [document, section] = ['', ''];
  for (const token of marked.lexer(markdown) as (Token & Tokens.Generic)[]) {
    if (token.type === 'heading' && token.depth === 2) document = toText(token.tokens);
    else if (token.type === 'heading' && token.depth === 3) section = toText(token.tokens);
    else if (section === '') continue;
    else if (token.type === 'table') {
      for (const [first, second, third] of (token as Tokens.Table).rows) {
        const [words, test, command] = [toText(first?.tokens), second?.text ?? '', third?.text ?? ''];
        // A row without words adds a test to the promise above it.
        if (words !== '') claims.push({ document, section, words, proofs: [] });
        const [, path, name] = TEST.exec(test) ?? [];
        if (path !== undefined && name !== undefined) claims.at(-1)?.proofs?.push({ path, name, command });
        else if (test === '–') claims.at(-1)?.proofs?.push({ command });
        else faults.push(`docs/promises.md: “${test}” is neither “\`path\` › name of the test” nor “–”`);
      }
    } else if (token.type === 'list') {
      for (const item of (token as Tokens.List).items) {
        const text = item.tokens.map((each) => toText('tokens' in each ? each.tokens : [each])).join(' ');
        const words = NOTHING.exec(text)?.[1];
        if (words === undefined)
          faults.push(`docs/promises.md: “${text}” is not “first words”: why it promises nothing`);
        else claims.push({ document, section, words });
      }
    }
  }
  return { claims, faults };
}
