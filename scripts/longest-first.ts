import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SLOW_FILES } from './stages.ts';

/** Whole programs wait the longest; unit tests fail the soonest. A worker runs files of one project alone. */
const PROJECTS = ['e2e', 'unit', 'integration-alone', 'integration'];

/**
 * Starts slow files of each project first, so that at the end no worker runs one while the others are idle. If tests
 * are shuffled, the files of each project are, too.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shuffle, seed } = this.ctx.config.sequence;
    const toRandom = ({ moduleId }: TestSpecification) =>
      createHash('sha256')
        .update(`${seed} ${relative(this.ctx.config.root, moduleId)}`)
        .digest('hex');
    const toSeconds = ({ moduleId }: TestSpecification) => SLOW_FILES[relative(this.ctx.config.root, moduleId)] ?? 0;
    const sorted = shuffle
      ? files.toSorted((a, b) => (toRandom(a) < toRandom(b) ? -1 : 1))
      : (await super.sort(files)).toSorted((a, b) => toSeconds(b) - toSeconds(a));
    const toRank = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name);
    return sorted.toSorted((a, b) => toRank(a) - toRank(b));
  }
}
