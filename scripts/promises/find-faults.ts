import { listTestNames } from './list-test-names.ts';
import { type Block, readBlocks } from './read-blocks.ts';
import { type Claim, readPromises } from './read-promises.ts';

export interface PromiseSources {
  /** The documents whose every block must be in the table, by file name. */
  documents: Readonly<Record<string, string>>;
  /** docs/promises.md. */
  promises: string;
  /** The source of a test, by its path from the root; undefined if there is none. */
  readTest(path: string): string | undefined;
  /** The command of the stage that a test belongs to. */
  commandOf(path: string): string;
  /** Scripts of package.json whose programs `npm run test:night` runs. */
  nightScripts: ReadonlySet<string>;
}

const NIGHT_COMMAND = 'npm run test:night';
const BY_HAND = /^by hand: .+ 20\d\d-\d\d-\d\d/;

const begins = (text: string, words: string): boolean =>
  text.startsWith(words) && !/^[\p{L}\p{N}]/u.test(text.slice(words.length));

const isAbout = ({ words, section }: Claim, block: Block): boolean =>
  section === block.section && (begins(block.text, words) || block.tableHead === words);

/** Reads each file once. */
function createTestNames({ readTest }: PromiseSources): (path: string) => Set<string> | undefined {
  const known = new Map<string, Set<string> | undefined>();
  return (path) => {
    if (!known.has(path)) {
      const source = path.endsWith('.test.ts') ? readTest(path) : undefined;
      known.set(path, source === undefined ? undefined : listTestNames(source));
    }
    return known.get(path);
  };
}

/** Everything that is wrong with docs/promises.md, one line each, with what to do. */
export function findPromiseFaults(sources: PromiseSources): string[] {
  const namesOf = createTestNames(sources);
  const { claims, faults } = readPromises(sources.promises);
  for (const [document, markdown] of Object.entries(sources.documents)) {
    const own = claims.filter((claim) => claim.document === document);
    const blocks = readBlocks(markdown);
    for (const block of blocks) {
      if (own.some((claim) => isAbout(claim, block))) continue;
      const words = block.text.slice(0, 60);
      faults.push(
        `${document}, “${block.section}”: “${words}…” is in no row: add one to docs/promises.md with the test that shows it, or a point that says why it promises nothing`,
      );
    }
    for (const claim of own) {
      const place = `docs/promises.md, ${document}, “${claim.section}”: “${claim.words}”`;
      const found = blocks.filter((block) => isAbout(claim, block));
      const isTable = found.some(({ tableHead }) => tableHead === claim.words);
      if (found.length === 0) faults.push(`${place} begins no block there: quote it as it is now, or remove the row`);
      else if (found.length > 1 && !isTable) faults.push(`${place} begins several blocks: quote more of the one meant`);
    }
  }
  for (const claim of claims) {
    const place = `docs/promises.md, ${claim.document}, “${claim.section}”: “${claim.words}”`;
    if (!Object.hasOwn(sources.documents, claim.document)) faults.push(`${place}: this check does not read it`);
    faults.push(...findFaultsOfProofs(claim, sources, namesOf).map((fault) => `${place}: ${fault}`));
  }
  return faults;
}

function findFaultsOfProofs(
  { proofs = [] }: Claim,
  { commandOf, nightScripts }: PromiseSources,
  namesOf: (path: string) => Set<string> | undefined,
): string[] {
  return proofs.flatMap((proof) => {
    const expectCommand = (needed: string): string[] =>
      proof.command === `\`${needed}\`` ? [] : [`the command that runs it is \`${needed}\`, not ${proof.command}`];
    if (proof.kind === 'by-hand') {
      return BY_HAND.test(proof.command) ? [] : ['write a test, or “by hand: `command`” and the date of the last run'];
    }
    if (proof.kind === 'program') {
      if (nightScripts.has(proof.script)) return expectCommand(NIGHT_COMMAND);
      return [`pnpm ${proof.script} is no program of ${NIGHT_COMMAND}`];
    }
    const { path, name } = proof;
    const names = namesOf(path);
    if (names === undefined) return [`there is no test file ${path}: name the one that shows it now`];
    if (!names.has(name)) return [`${path} has no test “${name}”: name the one that shows it now`];
    return expectCommand(commandOf(path)).map((fault) => `${path}: ${fault}`);
  });
}
