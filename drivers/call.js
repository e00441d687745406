// Called on an installed page script (`this`) with its argument as JSON text; answers with JSON text.
async function (argument) {
  return JSON.stringify(await this(JSON.parse(argument)));
}
