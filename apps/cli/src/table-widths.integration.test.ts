import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROJECT_DIRECTORY } from './terminal/cli-context.ts';
import { createTypedCommands, type TypedCommands } from './testing/typed-commands.ts';

const SAMPLES = join(PROJECT_DIRECTORY, 'samples/claude-projects');
const WEBHOOKS = '5dd9f6f5-700b-4247-91dd-e1af3b04230e';
const LONG_MODEL = 'internal-gateway.example.com/anthropic/claude-sonnet-5-20260801-preview-high-thinking';
const LONG_FOLDER = `/home/maya/code/${'customers-and-their-very-long-names/'.repeat(3)}`;
const LONG_NAME = `Maya Ångström-Featherstonehaugh of the platform team ${'and others '.repeat(5)}`.trim();

let api: TestApi;
let type: TypedCommands['type'];
let home: string;

/** A sample with long paths, a month's worth of usage, and an unpriced model in every second file. */
function widen(text: string, index: number): string {
  const widened = text
    .replaceAll('/home/maya/code/', LONG_FOLDER)
    .replaceAll(/("(?:input|output|cache_read_input|cache_creation_input)_tokens":)(\d+)/g, '$1$2000')
    .replaceAll('"gitBranch":"', `"gitBranch":"feature/${'a-long-branch-name-'.repeat(4)}`);
  return index % 2 === 0 ? widened : widened.replaceAll(/"model":"claude-[^"]+"/g, `"model":"${LONG_MODEL}"`);
}

beforeAll(async () => {
  api = await createTestApi();
  home = await mkdtemp(join(tmpdir(), 'recount-widths-'));
  ({ type } = createTypedCommands(api, {
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_DATA_HOME: join(home, 'data'),
  }));
  const names = await readdir(SAMPLES, { recursive: true });
  for (const [index, name] of names.filter((each) => each.endsWith('.jsonl')).entries()) {
    const text = widen(await readFile(join(SAMPLES, name), 'utf8'), index);
    const path = join(home, '.claude/projects', LONG_FOLDER.replaceAll('/', '-'), name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
    const machine = 'a-laptop-with-a-very-long-name.office.example.com';
    expect((await api.upload(text, { path: name, machine, person: LONG_NAME })).status).toBeLessThan(300);
  }
  const faulty = `{"type":"user","sessionId":"faulty","cwd":"${LONG_FOLDER}x","message":{"content":"hi"}}\n{broken\n`;
  await api.upload(faulty, { session_id: 'faulty', agent: 'claude-code', path: `${LONG_FOLDER}${WEBHOOKS}.jsonl` });
  await api.work();
  await type([
    'prices',
    'set',
    LONG_MODEL.slice(0, 60),
    '--input',
    '1234.5678',
    '--output',
    '98765.4321',
    '--from',
    '2026-01-01',
  ]);
  await type(['keys', 'create', '--name', LONG_NAME, '--scopes', 'ingest,read,admin', '--person', LONG_NAME], {
    hasServer: false,
  });
  await type(['share', WEBHOOKS, '--expires', '7d']);
  await writeFile(
    join(home, 'litellm.json'),
    JSON.stringify({
      'claude-sonnet-4-5': {
        litellm_provider: 'anthropic',
        mode: 'chat',
        input_cost_per_token: 1,
        output_cost_per_token: 2,
      },
      [LONG_MODEL]: { litellm_provider: 'anthropic', mode: 'chat', input_cost_per_token: 1, output_cost_per_token: 2 },
      [`${LONG_MODEL}-2`]: {
        litellm_provider: 'anthropic',
        mode: 'chat',
        input_cost_per_token: 1,
        output_cost_per_token: 2,
      },
    }),
  );
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

const NAMES = 'daily usage sessions tools files programs mcp subagents skills compactions errors denials prs findings';
const REPORTS = `${NAMES} model-choice blocks reconciliation disagreements models`.split(' ');

/** Without a server if the command queries the database itself. */
const COMMANDS: [words: string[], exitCode?: number, hasServer?: boolean][] = [
  [['sessions']],
  [['sessions', '--columns', 'id,project,branch,model,machine,person,cost']],
  [['sessions', WEBHOOKS]],
  [['why', WEBHOOKS]],
  [['show', WEBHOOKS]],
  [['search', 'webhook']],
  [['issues']],
  [['issues', '--warnings']],
  [['status']],
  [['live', '--all']],
  [['prices', 'list']],
  [['prices', 'list', '--all']],
  [['prices', 'set', 'claude-sonnet-4-5', '--input', '9999', '--output', '9999']],
  [['prices', 'diff', 'litellm.json'], 1],
  [['share', 'list']],
  [['keys', 'list'], 0, false],
  [['workspaces', 'list'], 0, false],
  [['audit'], 0, false],
  [['settings', 'show'], 0, false],
  [['doctor'], 0, false],
  [['verify'], 0, false],
  [['usage']],
  [['usage', '--breakdown']],
  [['usage', 'blocks']],
  [['backfill'], 2],
  [['delete', WEBHOOKS], 2],
  ...REPORTS.map((name): [string[]] => [['report', name]]),
  [['report', 'daily', '--breakdown']],
  [['report', 'usage', '--by', 'project,model,person']],
];

it.each(
  COMMANDS.map(([words, exitCode = 0, hasServer = true]) => [words.join(' '), words, exitCode, hasServer] as const),
)('recount %s fits 80 columns', async (_name, words, exitCode, hasServer) => {
  const commandLine = words.map((word) => (word === 'litellm.json' ? join(home, word) : word));
  const { exitCode: actual, out, err } = await type(commandLine, { columns: 80, hasServer });
  expect({ words, actual, err }).toEqual({ words, actual: exitCode, err });
  // Each state of a progress line is a separate line.
  const lines = stripVTControlCharacters(out + err).split(/[\r\n]+/);
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) {
    // Text to be copied stays complete.
    const isOneWord = /^\s*\S+$/.test(line) || /http:\S+/.test(line) || line.startsWith('recount: ');
    if (!isOneWord) expect({ line, fits: [...line].length <= 80 }).toEqual({ line, fits: true });
    expect(line).not.toMatch(/\d{4}-\d\d-\d\dT\d\d/);
  }
});
