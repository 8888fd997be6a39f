import { createRandom, type Random } from '../random.ts';

/** A transcript of a made-up team, with its author. */
export interface MadeTranscript {
  path: string;
  machine: string;
  person: string;
  text: string;
}

const PEOPLE = [
  { person: 'maya', machine: 'maya-laptop' },
  { person: 'jonas', machine: 'jonas-desktop' },
  { person: 'ines', machine: 'ines-laptop' },
  { person: 'tom', machine: 'ci-runner-2' },
];
const PROJECTS = [
  { name: 'billing-service', folder: 'src/billing', ending: 'ts', weight: 5 },
  { name: 'harbor-docs', folder: 'docs/guides', ending: 'md', weight: 3 },
  { name: 'tide-api', folder: 'internal/tide', ending: 'go', weight: 4 },
  { name: 'mobile-app', folder: 'lib/screens', ending: 'dart', weight: 2 },
  { name: 'infrastructure', folder: 'modules/network', ending: 'tf', weight: 1 },
];
const TITLES = [
  'Round invoice totals once, after tax',
  'Retry webhooks with growing pauses',
  'Move the cron jobs to the new scheduler',
  'Explain the failing snapshot test',
  'Add pagination to the orders endpoint',
  'Find out why the build got slower',
  'Write the upgrade guide for 5.0',
  'Drop support for the old token format',
  'Cache tariff lookups for a minute',
  'Show unread counts in the tab bar',
  'Rename harbour to harbor everywhere',
  'Review the pull request about time zones',
  'Make the login form usable by keyboard',
  'Delete feature flags that are always on',
  'Trace a leak of database connections',
  'Generate the client from the OpenAPI file',
];
const FILES = ['totals', 'webhooks', 'scheduler', 'orders', 'tokens', 'tariffs', 'session', 'login', 'flags', 'pool'];
const COMMANDS = ['npm test', 'git diff --stat', 'go test ./...', 'terraform plan', 'rg -n TODO src', 'npm run build'];
const BRANCHES = ['main', 'fix/rounding', 'feature/webhooks', 'chore/upgrade'];
const MODELS = [
  'claude-sonnet-4-5-20250929',
  'claude-sonnet-4-5-20250929',
  'claude-sonnet-4-5-20250929',
  'claude-opus-4-5-20251101',
  'claude-haiku-4-5-20251001',
  'tidewater-experimental',
];
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 176;

/** Sessions of the working days of half a year, the last of them a day before `endMs`. Deterministic for a seed. */
export function makeTeam(endMs: number, seed = 7): MadeTranscript[] {
  const random = createRandom(seed);
  const transcripts: MadeTranscript[] = [];
  for (let day = DAYS; day > 0; day--) {
    const startMs = Math.floor((endMs - day * DAY_MS) / DAY_MS) * DAY_MS + 8 * HOUR_MS;
    const isWeekend = [0, 6].includes(new Date(startMs).getUTCDay());
    const count = isWeekend ? random.integer(0, 1) : random.integer(1, 3);
    for (let number = 0; number < count; number++)
      transcripts.push(makeSession(random, startMs + random.integer(0, 8 * HOUR_MS), transcripts.length));
  }
  return transcripts;
}

function makeSession(random: Random, startMs: number, index: number): MadeTranscript {
  const project = random.pick(PROJECTS.flatMap((each) => Array<typeof each>(each.weight).fill(each)));
  const { person, machine } = random.pick(PEOPLE);
  const cwd = `/workspaces/${project.name}`;
  const sessionId = `20000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`;
  const title = random.pick(TITLES);
  const model = random.pick(MODELS);
  const common = { sessionId, cwd, gitBranch: random.pick(BRANCHES), version: '2.1.139', userType: 'external' };
  const lines: object[] = [];
  let atMs = startMs;
  let contextTokens = random.integer(12_000, 20_000);
  const add = (fields: object): void => {
    const uuid = `${sessionId}-${lines.length}`;
    lines.push({ ...common, uuid, timestamp: new Date(atMs).toISOString(), isSidechain: false, ...fields });
  };
  const ask = (content: unknown): void => add({ type: 'user', message: { role: 'user', content } });
  const answer = (content: object[], stopReason: string): void => {
    const read = contextTokens;
    const written = random.integer(400, 4000);
    contextTokens += written;
    add({
      type: 'assistant',
      message: {
        id: `msg_${sessionId}_${lines.length}`,
        role: 'assistant',
        model,
        content,
        stop_reason: stopReason,
        usage: {
          input_tokens: random.integer(3, 60),
          output_tokens: random.integer(80, 1600),
          cache_read_input_tokens: read,
          cache_creation_input_tokens: written,
        },
      },
    });
  };
  const prompts = random.integer(1, 5);
  for (let prompt = 0; prompt < prompts; prompt++) {
    ask(prompt === 0 ? `${title}. Keep the change small, and say what you tested.` : 'Good. Now look at the next one.');
    for (let step = random.integer(3, 14); step > 0; step--) {
      atMs += random.integer(3, 40) * 1000;
      const { name, input, output, isError } = pickCall(random, cwd, project);
      const id = `toolu_${sessionId}_${lines.length}`;
      answer([{ type: 'tool_use', id, name, input }], 'tool_use');
      atMs += random.integer(200, name === 'Bash' ? 45_000 : 900);
      ask([{ type: 'tool_result', tool_use_id: id, content: output, is_error: isError }]);
    }
    atMs += random.integer(3, 30) * 1000;
    answer([{ type: 'text', text: 'The change is in place, and the tests pass.' }], 'end_turn');
    atMs += random.pick([40, 120, 600, 1500]) * 1000;
  }
  lines.push({ type: 'ai-title', aiTitle: title, sessionId });
  if (random.integer(0, 3) === 0) {
    const [prNumber, prRepository] = [400 + index, `tidewater-example/${project.name}`];
    const prUrl = `https://github.com/${prRepository}/pull/${prNumber}`;
    lines.push({ type: 'pr-link', sessionId, prNumber, prUrl, prRepository, timestamp: new Date(atMs).toISOString() });
  }
  return {
    path: `/home/${person}/.claude/projects/-workspaces-${project.name}/${sessionId}.jsonl`,
    person,
    machine,
    text: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  };
}

interface MadeCall {
  name: string;
  input: object;
  output: string;
  isError: boolean;
}

function pickCall(random: Random, cwd: string, { folder, ending }: (typeof PROJECTS)[number]): MadeCall {
  const file = `${cwd}/${folder}/${random.pick(FILES)}.${ending}`;
  const isError = random.integer(0, 14) === 0;
  const name = random.pick([
    'Read',
    'Read',
    'Read',
    'Bash',
    'Bash',
    'Edit',
    'Grep',
    'Skill',
    'mcp__tracker__find_issue',
  ]);
  const body = 'const total = lines.reduce((sum, line) => sum + line.amount, 0);\n'.repeat(random.integer(1, 60));
  switch (name) {
    case 'Bash': {
      const failed = isError || random.integer(0, 6) === 0;
      const output = failed ? 'Exit code 1\n2 tests failed' : '42 passed (3.1 s)';
      return { name, input: { command: random.pick(COMMANDS), description: 'Check it' }, output, isError: failed };
    }
    case 'Edit': {
      const input = { file_path: file, old_string: 'Math.round(amount)', new_string: 'roundHalfEven(amount)' };
      return {
        name,
        input,
        output: isError ? 'String to replace not found in file.' : 'The file was updated.',
        isError,
      };
    }
    case 'Grep':
      return { name, input: { pattern: 'roundHalf', path: cwd }, output: `${file}:12`, isError: false };
    case 'Skill':
      return { name, input: { skill: random.pick(['release-notes', 'triage']) }, output: 'Loaded.', isError: false };
    case 'Read':
      return { name, input: { file_path: file }, output: isError ? 'File does not exist.' : body, isError };
    default:
      return { name, input: { query: 'rounding' }, output: 'BILL-118: totals are off by a cent', isError: false };
  }
}
