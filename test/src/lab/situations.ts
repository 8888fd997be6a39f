import type { Step, ToolUse } from './server/exchange.ts';
import type { Steps } from './server/script.ts';

/** The tools of a program that the situations use. Names and inputs are the program's own. */
export interface ProgramTools {
  /** Runs a command of the shell. */
  shell(command: string): ToolUse;
  /** Starts a sub-agent and gives it a prompt; undefined if the program has none. */
  agent?(prompt: string): ToolUse;
  /** Waits for the sub-agents, for programs whose agents run in the background. */
  waitForAgents?(): ToolUse;
}

/** One start of the program. */
export interface Turn {
  /**
   * The beginning of its session, as a new one, as the latest one of the folder, as the one of the first turn, or as
   * its copy.
   */
  start: 'new' | 'continue' | 'resume' | 'fork';
  prompt: string;
  /** The program is killed once an answer hangs. */
  isKilled?: boolean;
  isFast?: boolean;
  /** The program compacts the conversation in this turn, by its own command, if it has one, or before the prompt. */
  isCompaction?: boolean;
}

export interface Situation {
  id: string;
  label: string;
  turns: readonly Turn[];
  toSteps(tools: ProgramTools): Steps;
  /** Output of the shell. Each must be in the result of a tool. */
  outputs?: readonly string[];
}

/** Of the prompt that programs without a command for it compact the conversation before. */
export const COMPACTION_MARKER = 'LAB-full-now';

/** A context that the answers of the lab do not fill, except for the one before a compaction. */
export const FULL_CONTEXT_TOKENS = 40_000;
const FULL_CACHE_TOKENS = 60_013;

/** Of the markers of prompts that sub-agents get. */
export const CHILD_PREFIX = 'LAB-child-';

const prompt = (marker: string): string => `Please do what ${marker} says.`;
const say = (text: string, step: Omit<Step, 'text'> = {}): Step => ({ ...step, text });

export const SITUATIONS: readonly Situation[] = [
  {
    id: 'two-turns',
    label: 'two turns',
    turns: [
      { start: 'new', prompt: prompt('LAB-two-1') },
      { start: 'continue', prompt: prompt('LAB-two-2') },
    ],
    toSteps: () => ({
      'LAB-two-1': [say('The first of two answers.')],
      'LAB-two-2': [say('The second of two answers.')],
    }),
  },
  {
    id: 'tool-call',
    label: 'tool calls',
    turns: [{ start: 'new', prompt: prompt('LAB-tools-1') }],
    toSteps: ({ shell }) => ({
      'LAB-tools-1': [
        say('Two commands at once.', { calls: [shell('echo lab-output-one'), shell('echo lab-output-two')] }),
        say('And one that fails.', { calls: [shell('echo lab-output-three; exit 3')] }),
        say('The commands have been run.'),
      ],
    }),
    outputs: ['lab-output-one', 'lab-output-two', 'lab-output-three'],
  },
  {
    id: 'sub-agent',
    label: 'sub-agent',
    turns: [{ start: 'new', prompt: prompt('LAB-parent-1') }],
    toSteps: ({ shell, agent, waitForAgents }) => ({
      'LAB-parent-1': [
        say('A sub-agent shall do it.', { calls: agent === undefined ? [] : [agent(prompt('LAB-child-1'))] }),
        ...(waitForAgents === undefined ? [] : [say('Now to wait.', { calls: [waitForAgents()] })]),
        say('The sub-agent has done it.'),
      ],
      'LAB-child-1': [
        say('The child runs a command.', { calls: [shell('echo lab-output-child')] }),
        say('The child has done its part.'),
      ],
    }),
    outputs: ['lab-output-child'],
  },
  {
    id: 'resume',
    label: 'resume',
    turns: [
      { start: 'new', prompt: prompt('LAB-resume-1') },
      { start: 'resume', prompt: prompt('LAB-resume-2') },
      { start: 'resume', prompt: prompt('LAB-resume-3') },
    ],
    toSteps: ({ shell }) => ({
      'LAB-resume-1': [say('Before the pause.', { calls: [shell('echo lab-output-before')] }), say('Pause.')],
      'LAB-resume-2': [say('After the pause.', { calls: [shell('echo lab-output-after')] }), say('Done again.')],
      'LAB-resume-3': [say('And a third time.')],
    }),
    outputs: ['lab-output-before', 'lab-output-after'],
  },
  {
    id: 'fork',
    label: 'fork',
    turns: [
      { start: 'new', prompt: prompt('LAB-fork-1') },
      { start: 'fork', prompt: prompt('LAB-fork-2') },
      { start: 'resume', prompt: prompt('LAB-fork-3') },
    ],
    toSteps: ({ shell }) => ({
      'LAB-fork-1': [say('The trunk.', { calls: [shell('echo lab-output-trunk')] }), say('The end of the trunk.')],
      'LAB-fork-2': [say('The branch.')],
      'LAB-fork-3': [say('The trunk grows on.')],
    }),
    outputs: ['lab-output-trunk'],
  },
  {
    id: 'compaction',
    label: 'compaction',
    turns: [
      { start: 'new', prompt: prompt('LAB-full-1') },
      { start: 'resume', prompt: prompt('LAB-full-2') },
      { start: 'resume', prompt: prompt(COMPACTION_MARKER), isCompaction: true },
      { start: 'resume', prompt: prompt('LAB-full-3') },
    ],
    toSteps: ({ shell }) => ({
      'LAB-full-1': [say('Much is said.', { calls: [shell('echo lab-output-much')] }), say('All was said.')],
      'LAB-full-2': [say('More is said.', { tokens: { cacheRead: FULL_CACHE_TOKENS } })],
      [COMPACTION_MARKER]: [say('Compacted before.', { isOptional: true })],
      'LAB-full-3': [say('After the compaction.')],
    }),
  },
  {
    id: 'killed',
    label: 'killed',
    turns: [
      { start: 'new', prompt: prompt('LAB-kill-1'), isKilled: true },
      { start: 'continue', prompt: prompt('LAB-kill-2') },
    ],
    toSteps: ({ shell }) => ({
      'LAB-kill-1': [
        say('Soon it ends.', { calls: [shell('echo lab-output-last')] }),
        say('This is cut by the', { fault: 'hang' }),
      ],
      'LAB-kill-2': [say('It lives again.')],
    }),
    outputs: ['lab-output-last'],
  },
  {
    id: 'fast',
    label: 'fast tier',
    turns: [{ start: 'new', prompt: prompt('LAB-fast-1'), isFast: true }],
    toSteps: () => ({ 'LAB-fast-1': [say('Quickly answered.')] }),
  },
  {
    id: 'errors',
    label: 'errors, retried',
    turns: [
      { start: 'new', prompt: prompt('LAB-error-1') },
      { start: 'continue', prompt: prompt('LAB-error-2') },
    ],
    toSteps: ({ shell }) => ({
      'LAB-error-1': [
        say('', { fault: 'rate-limit' }),
        say('Answered at last.', { calls: [shell('echo lab-output-retried')] }),
        say('', { fault: 'overloaded' }),
        say('And finished.'),
      ],
      'LAB-error-2': [say('This one breaks off', { fault: 'cut' }), say('This one comes whole.', { isOptional: true })],
    }),
    outputs: ['lab-output-retried'],
  },
];
