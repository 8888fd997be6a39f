import type { JsonValue } from '../lines/json.ts';
import { isJsonObject } from './fields.ts';
import type { ToolUseFacts } from './records.ts';

/** The part of a turn's work that one call of a tool does. */
export type WorkStep =
  | 'edit-code'
  | 'edit-test'
  | 'edit-text'
  | 'edit-plan'
  | 'commit'
  | 'test'
  | 'operate'
  | 'review'
  | 'run'
  | 'plan'
  | 'look'
  /** The command or file of the call is filler, as in a session that was sent as its usage only. */
  | 'hidden'
  | 'other';

/** The beginning of a command that is read. */
const MAX_COMMAND_LENGTH = 2048;

const TEST_PATH =
  /(?:^|[/\\])(?:tests?|specs?|__tests__|e2e|fixtures)[/\\]|[._-](?:test|spec)s?\.\w+$|(?:^|[/\\])test_[^/\\]*$/i;
const TEXT_PATH = /\.(?:md|mdx|txt|rst|adoc)$/i;
const PLAN_PATH =
  /(?:plan|todo|roadmap|design|spec|rfc|proposal|ticket|backlog|prd)[^/\\]*\.\w+$|[/\\](?:plans|tickets|specs|rfcs|todos)[/\\]/i;

/** Words before a command's own first one: assignments, launchers, and runners of packages. */
const PREFIX =
  /^(?:\w+=\S*\s+|(?:sudo|time|env|nohup|exec|command|then|do|else)\s+|timeout\s+\S+\s+|(?:npx|bunx|uvx|pnpm exec|pnpm dlx|yarn exec|bun x|uv run|poetry run|pipenv run|bundle exec)\s+(?:-\S+\s+)*)+/;

/** Commands by their first words, the strongest first. */
const COMMANDS: readonly [step: WorkStep, pattern: RegExp][] = [
  [
    'commit',
    /^(?:git (?:-C \S+ )?(?:commit|push|merge|rebase|tag|cherry-pick|revert)\b|gh (?:pr (?:create|merge|edit)|release)\b|glab mr (?:create|merge)\b)/,
  ],
  ['edit-code', /^(?:sed (?:-\w+ )*-i|perl -\w*i|apply_patch\b|patch\b)/],
  [
    'test',
    /^(?:(?:vitest|jest|mocha|ava|pytest|py\.test|tox|nox|rspec|phpunit|playwright|cypress|ctest|bats|nextest)\b|(?:npm|pnpm|yarn|bun|deno|cargo|go|dotnet|swift|mix|make|just|rake|gradle|\.\/gradlew|mvn|sbt|turbo|nx)(?: \S+)*? (?:[\w:-]*test[\w:-]*|t|nextest|check|verify)\b|xcodebuild\b.*\btest\b|python3? -m (?:pytest|unittest)\b|node --test\b)/,
  ],
  [
    'operate',
    /^(?:(?:docker|docker-compose|podman|kubectl|helm|terraform|tofu|pulumi|ansible|ansible-playbook|ssh|scp|rsync|systemctl|service|launchctl|aws|gcloud|az|fly|flyctl|vercel|netlify|heroku|wrangler|supabase|brew|apt|apt-get|dnf|yum|apk|kill|pkill|killall|lsof|crontab|pm2|nginx)\b|(?:npm|pnpm|yarn|bun)(?: -\S+)* (?:i|install|add|remove|ci|publish|update|upgrade|link)\b|(?:pip3?|uv|poetry|cargo|gem|go) (?:pip )?(?:install|add|sync|publish|get)\b|gh (?:workflow|run|repo|secret)\b|git (?:clone|checkout|switch|branch|worktree|stash|pull|fetch|reset|clean|add|rm|mv|init|remote|config|submodule)\b)/,
  ],
  ['look', /^git (?:-C \S+ )?show \S+:/],
  ['review', /^(?:git (?:-C \S+ )?(?:diff|show|blame|range-diff)\b|gh (?:pr|issue|api)\b|glab mr\b)/],
  [
    'look',
    /^(?:ls|ll|cat|head|tail|less|more|grep|egrep|rg|ag|ack|find|fd|wc|sed|awk|tree|pwd|which|whereis|type|file|stat|du|df|jq|yq|cut|sort|uniq|nl|tr|echo|printf|cd|date|env|printenv|test|true|xargs|diff|cmp|strings|hexdump|xxd|od|ps|basename|dirname|realpath|readlink|sleep|set|export|\[|git (?:-C \S+ )?(?:log|status|ls-files|ls-tree|rev-parse|reflog|describe|shortlog|grep))(?: |$)/,
  ],
];

const ORDER: readonly WorkStep[] = ['commit', 'edit-code', 'test', 'operate', 'review', 'run', 'look'];

/** A redirection of output into a file, except into devices and temporary files. */
const WRITES_FILE =
  /(?:^|[^0-9&<>=-])>>?\s*(?!\/dev\/|\/tmp\/)([\w./~-]{2,})|\btee\s+(?:-a\s+)?(?!\/dev\/|\/tmp\/)([\w./~-]{2,})/;

/** The step that a call is, by its kind of tool, its file and its command. */
export function toWorkStep({ tool_kind: kind, file_path: path, program }: ToolUseFacts, input: JsonValue): WorkStep {
  switch (kind) {
    case 'edit':
      return isFiller(path ?? input) ? 'hidden' : toEditStep(path);
    case 'shell': {
      const text = readCommand(input) ?? program ?? '';
      return isFiller(text) ? 'hidden' : toCommandStep(text);
    }
    case 'plan':
      return 'plan';
    case 'read':
    case 'search':
    case 'web':
    case 'agent':
      return 'look';
    default:
      return 'other';
  }
}

/** True for texts that became as many `x`, and for commands with several such words. */
const isFiller = (text: JsonValue): boolean => typeof text === 'string' && /^xx[x ]*$/.test(text);

function toEditStep(path: string | null): WorkStep {
  if (path === null) return 'edit-code';
  if (TEXT_PATH.test(path)) return PLAN_PATH.test(path) ? 'edit-plan' : 'edit-text';
  return TEST_PATH.test(path) ? 'edit-test' : 'edit-code';
}

const COMMAND_FIELDS = ['command', 'cmd', 'script'];

/** The command of a shell call; a text that was cut is read as it is. */
function readCommand(input: JsonValue): string | undefined {
  if (typeof input === 'string') return input;
  if (!isJsonObject(input)) return undefined;
  for (const field of COMMAND_FIELDS) {
    const value = input[field];
    if (typeof value === 'string') return value;
    // The last word of `["bash", "-lc", "…"]` is the script; of other commands, all words count.
    if (Array.isArray(value)) {
      const words = value.filter((word) => typeof word === 'string');
      return /^-\w*c$/.test(words[1] ?? '') ? words.at(-1) : words.join(' ');
    }
  }
  return undefined;
}

const SHELL_SCRIPT = /^(?:\S*\/)?(?:ba|z|da|k)?sh -\w*c\s+["']?/;

/** A quoted text, where the last one may have no end. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)/gs;

/** A quoted name keeps its letters; any other text is one word that means nothing. */
const toWord = (quoted: string): string => (/^["'][\w./~-]+["']$/.test(quoted) ? quoted.slice(1, -1) : '_');

/** The strongest step of a command's parts. What is within quotes or a here-document is no part. */
export function toCommandStep(command: string): WorkStep {
  const script = command.slice(0, MAX_COMMAND_LENGTH).replace(SHELL_SCRIPT, '');
  const here = script.indexOf('<<');
  const end = here === -1 ? -1 : script.indexOf('\n', here);
  const text = (end === -1 ? script : script.slice(0, end)).replaceAll(QUOTED, toWord);
  const steps = new Set(text.split(/&&|\|\||[;|\n]/).map((part) => toPartStep(part.trim())));
  const written = WRITES_FILE.exec(text);
  if (written !== null) steps.add(toEditStep(written[1] ?? written[2] ?? null));
  const edit = [...steps].find((step) => step.startsWith('edit-'));
  const strongest = ORDER.find((step) => steps.has(step));
  return strongest === 'commit' ? strongest : (edit ?? strongest ?? 'look');
}

function toPartStep(part: string): WorkStep {
  const command = part
    .replace(/^[({!\s]+/, '')
    .replace(PREFIX, '')
    .replace(/^\S*\/(?=[\w.-]+(?: |$))/, '');
  if (command === '' || command.startsWith('#')) return 'look';
  return COMMANDS.find(([, pattern]) => pattern.test(command))?.[0] ?? 'run';
}
