import { expect, test } from 'bun:test';

import { loadedWith } from '../rig/loaded.ts';

// Help, version and each refusal need none of it, and to load all of it takes longer than they do.
test('the program starts without the appliance, its listeners and its operations', () => {
  const { files } = loadedWith('main.ts');
  expect(files).toContain('commands/operate.ts');
  expect(files).not.toContain('control/operations.ts');
  expect(files).not.toContain('health/doctor.ts');
  expect(
    files.filter((name) => /^(?:appliance|api\/routes|dashboard|flow\/queue)\//.test(name)),
  ).toEqual([]);
});
