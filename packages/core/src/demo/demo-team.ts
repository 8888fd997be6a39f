import type { DemoAgent } from './demo-session.ts';

/** The invented company of the demo. No one can register a name ending in `.example` (RFC 2606). */
export const COMPANY = 'tidewater-example';

export interface DemoTeam {
  name: string;
  costCentre: string;
  /** Display name of one of its people. */
  lead: string;
}

export const TEAMS: readonly DemoTeam[] = [
  { name: 'Payments', costCentre: 'CC-410', lead: 'Maya Lindqvist' },
  { name: 'Product', costCentre: 'CC-420', lead: 'Aiko Tanaka' },
  { name: 'Platform', costCentre: 'CC-430', lead: 'Priya Nair' },
];

/** Dollars a month for a seat. A plan of one person has one seat. */
export const PLANS = [
  { name: 'Team Premium', person: null, agent: 'claude-code', monthly_usd: 150, seats: 8 },
  { name: 'Max 20x', person: 'Maya Lindqvist', agent: 'claude-code', monthly_usd: 200, seats: 1 },
] as const;

export interface DemoPerson {
  /** E-mail address, under which their sessions arrive. */
  name: string;
  displayName: string;
  /** Name of their team. */
  team: string;
  machine: string;
  home: string;
  /** Repositories by name, and agents. Repeated ones are chosen more often. */
  repositories: readonly string[];
  agents: readonly DemoAgent[];
  /** Sessions on a working day, at most. */
  maxSessions: number;
}

const toPerson = (
  team: string,
  name: string,
  repositories: string,
  agents: readonly DemoAgent[],
  maxSessions: number,
  isMac = false,
): DemoPerson => {
  const login = name.split('.')[0] ?? name;
  const [machine, home] = isMac ? [`${login}-macbook`, `/Users/${login}`] : [`${login}-laptop`, `/home/${login}`];
  return {
    name: `${name}@tidewater.example`,
    displayName: name
      .split('.')
      .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}`)
      .join(' '),
    team,
    machine,
    home,
    repositories: repositories.split(' '),
    agents,
    maxSessions,
  };
};

export const PEOPLE: readonly DemoPerson[] = [
  toPerson('Payments', 'maya.lindqvist', 'billing-service billing-service web-app', ['claude-code'], 3, true),
  toPerson('Payments', 'jonas.weber', 'billing-service tide-api', ['claude-code', 'codex'], 2),
  toPerson('Payments', 'ines.carvalho', 'billing-service', ['codex'], 2, true),
  toPerson('Payments', 'tom.okafor', 'tide-api billing-service', ['claude-code'], 1),
  toPerson('Product', 'aiko.tanaka', 'web-app web-app mobile-app', ['claude-code', 'copilot'], 2, true),
  toPerson('Product', 'pavel.novak', 'mobile-app', ['copilot'], 1),
  toPerson('Product', 'lena.fischer', 'web-app', ['claude-code'], 2, true),
  toPerson('Product', 'sam.reyes', 'mobile-app web-app', ['pi'], 1),
  toPerson('Platform', 'priya.nair', 'infrastructure tide-api', ['claude-code', 'codex'], 2),
  toPerson('Platform', 'david.cohen', 'infrastructure', ['qwen'], 1),
  toPerson('Platform', 'nora.haddad', 'tide-api harbor-docs', ['claude-code'], 2, true),
  toPerson('Platform', 'oskar.berg', 'harbor-docs', ['pi', 'claude-code'], 1),
];

export interface DemoRepository {
  name: string;
  /** Paths within it. */
  files: readonly string[];
  test: string;
  tasks: readonly string[];
}

export const REPOSITORIES: readonly DemoRepository[] = [
  {
    name: 'billing-service',
    files: ['src/invoices/totals.ts', 'src/invoices/rounding.ts', 'src/webhooks/deliver.ts', 'test/invoices.test.ts'],
    test: 'npm test',
    tasks: [
      'Round invoice totals once, after tax',
      'Retry webhooks with growing pauses',
      'Add pagination to the orders endpoint',
      'Explain why the rounding test fails on Fridays',
      'Drop support for the old token format',
      'Review the pull request about credit notes',
    ],
  },
  {
    name: 'tide-api',
    files: ['internal/tide/forecast.go', 'internal/tide/cache.go', 'cmd/server/main.go', 'internal/tide/cache_test.go'],
    test: 'go test ./...',
    tasks: [
      'Cache tariff lookups for a minute',
      'Trace a leak of database connections',
      'Generate the client from the OpenAPI file',
      'Answer 304 if the forecast has not changed',
      'Find out why the build got slower',
    ],
  },
  {
    name: 'web-app',
    files: ['src/pages/orders.tsx', 'src/pages/login.tsx', 'src/state/session.ts', 'src/pages/orders.test.tsx'],
    test: 'npm run test:unit',
    tasks: [
      'Make the login form usable by keyboard',
      'Show unread counts in the tab bar',
      'Explain the failing snapshot test',
      'Move forms to the new design tokens',
      'Delete feature flags that are always on',
    ],
  },
  {
    name: 'mobile-app',
    files: ['lib/screens/home.dart', 'lib/state/sync.dart', 'test/sync_test.dart'],
    test: 'flutter test',
    tasks: ['Sync orders in the background', 'Fix the crash when the list is empty', 'Support dark mode on Android'],
  },
  {
    name: 'infrastructure',
    files: ['modules/network/main.tf', 'modules/database/main.tf', 'environments/staging/main.tf'],
    test: 'terraform plan',
    tasks: [
      'Move the cron jobs to the new scheduler',
      'Give each service its own database role',
      'Reduce the log retention on staging',
      'Plan the upgrade to PostgreSQL 18',
    ],
  },
  {
    name: 'harbor-docs',
    files: ['docs/guides/upgrade.md', 'docs/guides/webhooks.md', 'docs/reference/errors.md'],
    test: 'npm run check-links',
    tasks: ['Write the upgrade guide for 5.0', 'Rename harbour to harbor everywhere', 'Document the error codes'],
  },
];

/** Models of each agent; repeated ones are chosen more often. `qwen3-coder-plus` has no list price. */
export const MODELS: Record<DemoAgent, readonly string[]> = {
  'claude-code': ['claude-sonnet-5-5', 'claude-sonnet-5-5', 'claude-opus-5', 'claude-haiku-5-5', 'claude-opus-4-6'],
  codex: ['gpt-5.5', 'gpt-5.5', 'gpt-5.3-codex'],
  copilot: ['claude-sonnet-5-5', 'gpt-5-mini'],
  pi: ['claude-sonnet-4-5'],
  qwen: ['qwen3-coder-plus'],
};

/** Calls of tools of MCP servers. */
export const MCP_CALLS = [
  {
    name: 'mcp__github__list_issues',
    input: { state: 'open', labels: ['bug'] },
    output: '#481 Totals differ by a cent\n#477 Export is slow',
  },
  { name: 'mcp__github__get_pull_request', input: { number: 482 }, output: 'open, 3 files changed, checks passed' },
  { name: 'mcp__linear__get_issue', input: { id: 'TIDE-218' }, output: 'TIDE-218: In progress, due on Friday' },
  { name: 'mcp__sentry__search_errors', input: { query: 'is:unresolved' }, output: '2 errors in the last 24 hours' },
] as const;

export const SUBAGENTS = [
  {
    type: 'Explore',
    model: 'claude-haiku-5-5',
    description: 'Find every use of the limit',
    prompt: 'List every place where the limit is read or written, with file and line. Do not change anything.',
    answer: 'It is read in two files and written in none.',
  },
  {
    type: 'general-purpose',
    model: 'claude-sonnet-5-5',
    description: 'Find the tests of the changed files',
    prompt: 'Which tests cover the files that are about to change? Say what they do not cover.',
    answer: 'One test covers them, but not the largest value.',
  },
] as const;
