const isTextInSight = () => false;
const isImageInSight = () => false;
const readPage = () => null;
