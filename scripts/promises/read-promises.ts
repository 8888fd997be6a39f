import { marked, type Token, type Tokens } from 'marked';
import { toText } from './read-blocks.ts';

/** The proof of a promise, and the command that runs it. */
type Proof = { command: string } & (
  | { kind: 'test'; path: string; name: string }
  /** A separate program, such as `pnpm chaos`. */
  | { kind: 'program'; script: string }
  /** The command says what was done, and when. */
  | { kind: 'by-hand' }
);

/** The entry of docs/promises.md for a block, which is its proofs; none if it promises nothing. */
export interface Claim {
  document: string;
  section: string;
  /** The first words of the block, or the head of its table. */
  words: string;
  proofs?: Proof[];
}

const TEST = /^`([^`]+)` › (.+)$/;
const PROGRAM = /^`pnpm (\w+)`$/;
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
        const proof = readProof(test, command);
        if (proof === undefined) faults.push(`docs/promises.md: “${test}” is not “\`path\` › name of the test”`);
        else claims.at(-1)?.proofs?.push(proof);
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

function readProof(text: string, command: string): Proof | undefined {
  const [, path, name] = TEST.exec(text) ?? [];
  if (path !== undefined && name !== undefined) return { kind: 'test', path, name, command };
  const script = PROGRAM.exec(text)?.[1];
  if (script !== undefined) return { kind: 'program', script, command };
  return text === '–' ? { kind: 'by-hand', command } : undefined;
}
