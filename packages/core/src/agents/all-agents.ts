import type { Agent } from './agent.ts';
import { amp } from './amp/agent.ts';
import { claudeCode } from './claude-code/agent.ts';
import { cline, kiloCode, roo } from './cline/agent.ts';
import { codex } from './codex/agent.ts';
import { copilot } from './copilot/agent.ts';
import { crush } from './crush/agent.ts';
import { cursor } from './cursor/agent.ts';
import { droid } from './droid/agent.ts';
import { gemini } from './gemini/agent.ts';
import { goose } from './goose/agent.ts';
import { kimi } from './kimi/agent.ts';
import { kilo, opencode } from './opencode/agent.ts';
import { openHands } from './openhands/agent.ts';
import { omp, openclaw, pi } from './pi/agent.ts';
import { qwen } from './qwen/agent.ts';

/** All agents that recount knows. The first one is the default. */
export const AGENTS: readonly [Agent, ...Agent[]] = [
  claudeCode,
  codex,
  opencode,
  kilo,
  copilot,
  gemini,
  amp,
  cursor,
  pi,
  openclaw,
  omp,
  droid,
  qwen,
  kimi,
  cline,
  roo,
  kiloCode,
  goose,
  crush,
  openHands,
];
