import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import type { ClosedProgram, Program } from './program.ts';

export const PROGRAMS: readonly Program[] = [claudeCode, codex];

export const CLOSED_PROGRAMS: readonly ClosedProgram[] = [
  { agent: 'amp', label: 'Amp', packageName: '@sourcegraph/amp', reason: 'needs a login at its vendor' },
  { agent: 'cursor', label: 'Cursor', packageName: 'cursor-agent', reason: 'needs a login, and is not on npm' },
  { agent: 'droid', label: 'Droid', packageName: 'droid', reason: 'needs a login at its vendor' },
  { agent: 'goose', label: 'Goose', packageName: 'goose', reason: 'is not on npm' },
  { agent: 'openhands', label: 'OpenHands', packageName: 'openhands', reason: 'is not on npm' },
];
