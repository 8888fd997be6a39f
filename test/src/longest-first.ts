import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that are slow for their size; used if no earlier run has recorded their durations. */
const LONG = /\/test\/src\/(dashboard|fleet)\/|-corpus\.|growing-sessions|\/collector\./;

/** Starts slow files of each project first, so that at the end no worker runs one while the others are idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...byProject.values()].flatMap((ofProject) => {
      const long = ofProject.filter(({ moduleId }) => LONG.test(moduleId));
      return [...long, ...ofProject.filter((file) => !long.includes(file))];
    });
  }
}
