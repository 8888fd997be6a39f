import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));

/** The code block that imports from the checkout. */
async function readSnippet(document: string): Promise<string> {
  const blocks = (await readFile(join(CHECKOUT, document), 'utf8')).split(/\n\n/);
  const snippet = blocks.find((block) => /^ {4}import .*|^ {4}.* from '\.\/packages/m.test(block));
  if (snippet === undefined) throw new Error(`${document} has no snippet`);
  return snippet.replaceAll(/^ {4}/gm, '');
}

/** The output of Node for that code, run from the checkout as the documents say, without another module loader. */
async function run(code: string): Promise<string> {
  const words = ['--no-warnings', '--input-type=module', '--eval', code];
  return (await promisify(execFile)(process.execPath, words, { cwd: CHECKOUT })).stdout;
}

it('the import of docs/live.md works as documented', async () => {
  const init = { type: 'system', subtype: 'init', session_id: 's', model: 'claude-opus-4-8', tools: [] };
  const stream = `const stdout = [Buffer.from(${JSON.stringify(`${JSON.stringify(init)}\n`)})];`;
  expect(await run(`${stream}\n${await readSnippet('docs/live.md')}`)).toBe('session-start\n');
});

it('the import of the README works as documented', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recount-snippet-'));
  try {
    const path = join(folder, 'session.jsonl');
    const content = 'hello';
    await writeFile(
      path,
      `${JSON.stringify({ type: 'user', sessionId: 's', uuid: 'u', message: { role: 'user', content } })}\n`,
    );
    const snippet = (await readSnippet('README.md')).replaceAll("'session.jsonl'", JSON.stringify(path));
    expect(await run(`${snippet}\nconsole.log(messages.length, stats.api_response_count, errors.length);`)).toBe(
      '1 0 0\n',
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
