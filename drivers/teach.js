// Called on an installed page script (`this`): tells it of elements that page script cannot find. `told` is JSON text,
// {heard, numbers, roots}: of the objects the first ones belong to `numbers`, pairs of host and root follow.
function (told, ...objects) {
  const { heard, numbers, roots } = JSON.parse(told);
  const clickables = numbers.map((number, place) => [number, objects[place]]);
  const pairs = [];
  for (let place = numbers.length; roots && place < objects.length; place += 2) pairs.push([objects[place], objects[place + 1]]);
  return this({ heard, clickables, roots: pairs });
}
