import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { crush } from './crush.ts';
import { gemini } from './gemini.ts';
import { kimi } from './kimi.ts';
import { kilo, opencode } from './opencode.ts';
import { pi } from './pi.ts';
import type { ClosedProgram, Program } from './program.ts';
import { qwen } from './qwen.ts';

export const PROGRAMS: readonly Program[] = [
  claudeCode,
  codex,
  copilot,
  gemini,
  qwen,
  kimi,
  pi,
  opencode,
  kilo,
  cline,
  crush,
];

export const CLOSED_PROGRAMS: readonly ClosedProgram[] = [
  { agent: 'amp', label: 'Amp', reason: 'needs a login at its vendor' },
  { agent: 'cursor', label: 'Cursor', reason: 'needs a login, and is not on npm' },
  { agent: 'droid', label: 'Droid', reason: 'needs a login at its vendor' },
  { agent: 'goose', label: 'Goose', reason: 'is not on npm' },
  { agent: 'openhands', label: 'OpenHands', reason: 'is not on npm' },
];
